//! Determines the target of `compile`, from `--target` and the limits that `--limit` changes.

use std::{fs::File, path::Path, str::FromStr};

use stridec::{Error, Target, schedule::ScheduleError};

use super::{
    devices,
    errors::{Failure, input_name},
    proto_file::limited,
    stdin,
};

/// The value `NAME=VALUE` of a flag `--limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    field: &'static str,
    value: u64,
}

/// The names of a target's limits.
pub(super) const LIMITS: [&str; 4] = [
    "max_storage_buffer_binding_size",
    "max_compute_workgroups_per_dimension",
    "max_compute_invocations_per_workgroup",
    "max_storage_buffers_per_shader_stage",
];

impl Limit {
    /// Sets the limit in a target. Returns a failure if the value is too large for the limit.
    fn apply(&self, target: &mut Target) -> Result<(), Failure> {
        let Self { field, value } = *self;
        let small = u32::try_from(value).map_err(|_| {
            Failure::invalid(format!(
                "--limit: {field}: expected at most {}, got {value}",
                u32::MAX
            ))
        });
        match field {
            "max_storage_buffer_binding_size" => target.max_storage_buffer_binding_size = value,
            "max_compute_workgroups_per_dimension" => {
                target.max_compute_workgroups_per_dimension = small?;
            }
            "max_storage_buffers_per_shader_stage" => {
                target.max_storage_buffers_per_shader_stage = small?;
            }
            _ => target.max_compute_invocations_per_workgroup = small?,
        }
        Ok(())
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
        let field = LIMITS
            .into_iter()
            .find(|field| *field == name)
            .ok_or_else(|| format!("expected one of {}, got `{name}`", LIMITS.join(", ")))?;
        let bytes = bytes(value).ok_or_else(|| {
            format!("{field}: expected a number, such as 65535, 128MiB or 1GiB, got `{value}`")
        })?;
        Ok(Self { field, value: bytes })
    }
}

/// Parses a number of bytes, with an optional unit KiB, MiB or GiB. Returns `None` if the text is
/// not such a number.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim_start() {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Returns the target for a command, with the limits of the flags `--limit`. Uses the target that
/// `named` selects, otherwise the target of the request, and otherwise the default target.
pub(super) fn target(
    named: Option<&str>,
    limits: &[Limit],
    requested: Option<Target>,
) -> Result<Target, Failure> {
    let mut target = match named {
        None => requested.unwrap_or_default(),
        Some("adapter") => devices::adapter_target()?,
        Some(name) if name.starts_with('@') => from_file(Path::new(&name[1..]))?,
        Some(name) => Target::preset(name).map_err(|error| match error {
            ScheduleError::Preset { given, accepted } => Failure::invalid(format!(
                "--target: expected one of {accepted}, adapter, @FILE, got `{given}`"
            )),
            error => Failure::from(Error::from(error)).about("--target"),
        })?,
    };
    for limit in limits {
        limit.apply(&mut target)?;
    }
    Ok(target)
}

/// Reads a target from a file that `stridec calibrate` wrote. The path `-` is stdin.
fn from_file(path: &Path) -> Result<Target, Failure> {
    let bytes = if path == Path::new("-") {
        limited(path, stdin::take()?)?
    } else {
        limited(path, File::open(path).map_err(|error| Failure::unreadable(path, &error))?)?
    };
    let about = |failure: Failure| failure.about(input_name(path));
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| about(Failure::invalid(format!("expected UTF-8, got {error}"))))?;
    Target::from_json(text).map_err(|error| about(Error::from(error).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, value) in [
            ("0", Some(0)),
            ("65535", Some(65_535)),
            ("3KiB", Some(3072)),
            ("128 MiB", Some(128 << 20)),
            ("1GiB", Some(1 << 30)),
            ("1GB", None),
            ("GiB", None),
            ("", None),
            ("-1", None),
            ("99999999999GiB", None),
        ] {
            assert_eq!(bytes(text), value, "{text:?}");
        }
    }

    #[test]
    fn every_limit_reaches_its_field() {
        for field in LIMITS {
            let limits = [format!("{field}=7").parse().unwrap()];
            let changed = target(None, &limits, None).unwrap();
            assert_ne!(changed, Target::webgpu(), "{field}");
        }
    }
}
