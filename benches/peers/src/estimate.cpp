// A plan of HPTT in estimate mode, made once and executed often.
#include <memory>
#include <vector>
#include "hptt.h"

namespace {
struct Plan {
  std::shared_ptr<hptt::Transpose<float>> f32;
  std::shared_ptr<hptt::Transpose<double>> f64;
};
}  // namespace

extern "C" {
void *hptt_estimate(int bytes, const int *permutation, int rank, const int *sizes, const void *source,
                    void *destination, int threads) {
  auto *plan = new Plan;
  if (bytes == 4)
    plan->f32 = hptt::create_plan(permutation, rank, 1.f, static_cast<const float *>(source), sizes,
                                  nullptr, 0.f, static_cast<float *>(destination), nullptr,
                                  hptt::ESTIMATE, threads, nullptr, true);
  else
    plan->f64 = hptt::create_plan(permutation, rank, 1., static_cast<const double *>(source), sizes,
                                  nullptr, 0., static_cast<double *>(destination), nullptr,
                                  hptt::ESTIMATE, threads, nullptr, true);
  return plan;
}

void hptt_execute(void *plan) {
  auto *both = static_cast<Plan *>(plan);
  if (both->f32) both->f32->execute();
  if (both->f64) both->f64->execute();
}

void hptt_free(void *plan) { delete static_cast<Plan *>(plan); }
}
