//! [`Target`] as JSON: the format of the file that `stridec calibrate` writes and `--target @FILE`
//! reads.
//!
//! Every field must be known and in range, and all fields except four must be present. Otherwise an
//! error names the field.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use super::{AdapterKind, CostModel, Target};
use crate::error_kind::ErrorKind;

/// The maximum length of the JSON of a target, in bytes.
const MAX_TEXT: usize = 1 << 16;
/// The maximum length of `name` and of `measured_on`, in characters.
const MAX_NAME: usize = 200;

/// The reason why the JSON of a target was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A field is missing, unknown or repeated, or its value is out of range.
    #[error("target{}{field}: expected {expected}, got {given}", if field.is_empty() { "" } else { "." })]
    Field {
        /// The path of the field. Empty for the whole text.
        field: String,
        /// The accepted values.
        expected: String,
        /// The given value.
        given: String,
    },
    /// The text is not JSON.
    #[error("target: line {line}, column {column}: {reason}; expected a target as JSON")]
    Text {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The parser's message.
        reason: String,
    },
}

impl TargetError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}

impl Target {
    /// Reads the output of [`to_json`](Self::to_json): an object with exactly the fields of this
    /// example. Four fields may be missing, as in older files:
    /// `max_storage_buffers_per_shader_stage`, which is then 8, `read_write_sources`, which is then
    /// false, and the last two of the model, which are then those of [`CostModel::of`].
    ///
    /// ```
    /// use stridec::Target;
    /// let target = Target::from_json(r#"{
    ///     "name": "my board",
    ///     "kind": "gpu",
    ///     "max_storage_buffer_binding_size": 1073741824,
    ///     "max_compute_workgroups_per_dimension": 65535,
    ///     "max_compute_invocations_per_workgroup": 256,
    ///     "max_storage_buffers_per_shader_stage": 8,
    ///     "read_write_sources": false,
    ///     "model": {
    ///         "lanes": 32, "access": 16, "word": 0, "line": 2, "byte": 0.87, "spill": 18,
    ///         "operations_per_microsecond": 66000000, "dispatch_nanoseconds": 5000
    ///     },
    ///     "measured_on": "by hand, 2026-11-22"
    /// }"#)?;
    /// assert_eq!(target.model.byte, 870);
    /// # Ok::<(), stridec::schedule::TargetError>(())
    /// ```
    ///
    /// `kind` is `gpu` or `cpu`. `lanes` is a count from 1 to 128, and the last two numbers of the
    /// model are whole numbers. The others are costs in operations, from 0 to 1000, with at most
    /// three decimals.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON, if a field is missing, unknown or repeated, or if
    /// a value is out of range.
    pub fn from_json(text: &str) -> Result<Self, TargetError> {
        if text.len() > MAX_TEXT {
            let reason = format!("expected at most {MAX_TEXT} bytes, got {}", text.len());
            return Err(TargetError::Text { line: 1, column: 1, reason });
        }
        let node: JsonValue = serde_json::from_str(text).map_err(|error| {
            let (line, column, text) = (error.line(), error.column(), error.to_string());
            let place = format!(" at line {line} column {column}");
            let reason = text.strip_suffix(&place).unwrap_or(&text).to_owned();
            TargetError::Text { line, column, reason }
        })?;
        let mut fields = ObjectFields::of(node, "")?;
        let mut target = Self {
            name: fields.text("name", 1)?,
            kind: fields.kind()?,
            max_storage_buffer_binding_size: fields.whole(
                "max_storage_buffer_binding_size",
                4,
                u64::MAX,
            )?,
            max_compute_workgroups_per_dimension: fields
                .count("max_compute_workgroups_per_dimension", u32::MAX)?,
            max_compute_invocations_per_workgroup: fields
                .count("max_compute_invocations_per_workgroup", u32::MAX)?,
            max_storage_buffers_per_shader_stage: fields.count_or(
                "max_storage_buffers_per_shader_stage",
                u32::MAX,
                Self::STORAGE_BUFFERS,
            )?,
            read_write_sources: fields.truth_or("read_write_sources", false)?,
            model: CostModel::of(AdapterKind::Gpu),
            measured_on: fields.text("measured_on", 0)?,
        };
        target.model = CostModel::of(target.kind);
        let mut model = ObjectFields::of(fields.take("model", "an object")?, "model")?;
        fields.finish()?;
        target.model.lanes = model.count("lanes", CostModel::MAX_LANES)?;
        let names = target.model.costs().map(|(name, _)| name);
        for (cost, name) in target.model.costs_mut().into_iter().zip(names) {
            *cost = model.operations(name)?;
        }
        let CostModel { operations_per_microsecond: rate, dispatch_nanoseconds: dispatch, .. } =
            &mut target.model;
        *rate = model.count_or("operations_per_microsecond", u32::MAX, *rate)?;
        *dispatch = model.number_or("dispatch_nanoseconds", *dispatch)?;
        model.finish()?;
        Ok(target)
    }

    /// Returns the target as JSON, with each field on a line of its own.
    #[must_use]
    pub fn to_json(&self) -> String {
        let operations = |thousandths: u32| match thousandths % 1000 {
            0 => json!(thousandths / 1000),
            _ => json!(f64::from(thousandths) / 1000.0),
        };
        let mut model = serde_json::Map::from_iter([("lanes".to_owned(), json!(self.model.lanes))]);
        let costs = self.model.costs().into_iter();
        model.extend(costs.map(|(name, cost)| (name.to_owned(), operations(cost))));
        let rates = [
            ("operations_per_microsecond", self.model.operations_per_microsecond),
            ("dispatch_nanoseconds", self.model.dispatch_nanoseconds),
        ];
        model.extend(rates.map(|(name, rate)| (name.to_owned(), json!(rate))));
        let value = json!({
            "name": self.name,
            "kind": self.kind.name(),
            "max_storage_buffer_binding_size": self.max_storage_buffer_binding_size,
            "max_compute_workgroups_per_dimension": self.max_compute_workgroups_per_dimension,
            "max_compute_invocations_per_workgroup": self.max_compute_invocations_per_workgroup,
            "max_storage_buffers_per_shader_stage": self.max_storage_buffers_per_shader_stage,
            "read_write_sources": self.read_write_sources,
            "model": Value::Object(model),
            "measured_on": self.measured_on,
        });
        format!("{value:#}\n")
    }
}

/// The fields of a JSON object that remain to be read.
struct ObjectFields {
    /// The name of the field that contains the object. Empty for the outermost object.
    of: &'static str,
    left: Vec<(String, JsonValue)>,
    /// The names of the fields that were read.
    known: Vec<&'static str>,
}

impl ObjectFields {
    fn of(node: JsonValue, of: &'static str) -> Result<Self, TargetError> {
        match node {
            JsonValue::Object(left) => Ok(Self { of, left, known: Vec::new() }),
            other => Err(TargetError::Field {
                field: of.to_owned(),
                expected: "an object".to_owned(),
                given: other.to_string(),
            }),
        }
    }

    /// Returns the error for a field of this object.
    fn error(&self, field: &str, expected: impl Into<String>, given: String) -> TargetError {
        let field = if self.of.is_empty() { field.into() } else { format!("{}.{field}", self.of) };
        TargetError::Field { field, expected: expected.into(), given }
    }

    /// Removes the field `name` from the remaining fields, adds its name to the known fields, and
    /// returns its value. Returns an error if there is no such field.
    fn take(&mut self, name: &'static str, expected: &str) -> Result<JsonValue, TargetError> {
        self.known.push(name);
        match self.left.iter().position(|(field, _)| field == name) {
            Some(at) => Ok(self.left.remove(at).1),
            None => Err(self.error(name, expected, "no such field".to_owned())),
        }
    }

    /// Checks that all fields were read. A field that is left is unknown or repeated.
    fn finish(self) -> Result<(), TargetError> {
        match self.left.first() {
            None => Ok(()),
            Some((field, _)) if self.known.contains(&field.as_str()) => {
                Err(self.error(field, "one field of this name", "two".to_owned()))
            }
            Some((field, value)) => {
                let expected = format!("no field but {}", self.known.join(", "));
                Err(self.error(&excerpt(field), expected, value.to_string()))
            }
        }
    }

    /// Reads a text of at least `least` characters.
    fn text(&mut self, name: &'static str, least: usize) -> Result<String, TargetError> {
        let expected =
            format!("a text of {least} to {MAX_NAME} characters, none a control character");
        match self.take(name, &expected)? {
            JsonValue::Text(text)
                if (least..=MAX_NAME).contains(&text.chars().count())
                    && !text.contains(char::is_control) =>
            {
                Ok(text)
            }
            other => Err(self.error(name, expected, other.to_string())),
        }
    }

    /// Reads the kind of adapter.
    fn kind(&mut self) -> Result<AdapterKind, TargetError> {
        let kinds = [AdapterKind::Gpu, AdapterKind::Cpu];
        let expected = kinds.map(|kind| format!("{:?}", kind.name())).join(" or ");
        let given = self.take("kind", &expected)?;
        let is =
            |kind: &AdapterKind| matches!(&given, JsonValue::Text(text) if text == kind.name());
        let found = kinds.into_iter().find(is);
        found.ok_or_else(|| self.error("kind", expected, given.to_string()))
    }

    /// Reads a whole number in a range.
    fn whole(&mut self, name: &'static str, least: u64, most: u64) -> Result<u64, TargetError> {
        let expected = format!("a whole number from {least} to {most}");
        match self.take(name, &expected)? {
            JsonValue::Whole(number) if (least..=most).contains(&number) => Ok(number),
            other => Err(self.error(name, expected, other.to_string())),
        }
    }

    /// Reads a count from 1 to `most`.
    fn count(&mut self, name: &'static str, most: u32) -> Result<u32, TargetError> {
        let number = self.whole(name, 1, most.into())?;
        Ok(u32::try_from(number).unwrap_or(most))
    }

    /// Reads a count from 1 to `most`, or returns `missing` if there is no such field.
    fn count_or(
        &mut self,
        name: &'static str,
        most: u32,
        missing: u32,
    ) -> Result<u32, TargetError> {
        if self.has(name) { self.count(name, most) } else { Ok(missing) }
    }

    /// Reads a whole number of 32 bits, or returns `missing` if there is no such field.
    fn number_or(&mut self, name: &'static str, missing: u32) -> Result<u32, TargetError> {
        if !self.has(name) {
            return Ok(missing);
        }
        let number = self.whole(name, 0, u32::MAX.into())?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Reads `true` or `false`, or returns `missing` if there is no such field.
    fn truth_or(&mut self, name: &'static str, missing: bool) -> Result<bool, TargetError> {
        if !self.has(name) {
            return Ok(missing);
        }
        let expected = "true or false";
        match self.take(name, expected)? {
            JsonValue::Other("true") => Ok(true),
            JsonValue::Other("false") => Ok(false),
            other => Err(self.error(name, expected, other.to_string())),
        }
    }

    /// Returns true if a field with this name is present. Otherwise adds the name to the known
    /// fields, so that an error message about an unknown field lists it too.
    fn has(&mut self, name: &'static str) -> bool {
        let has = self.left.iter().any(|(field, _)| field == name);
        if !has {
            self.known.push(name);
        }
        has
    }

    /// Reads a number of operations, and returns it in thousandths.
    fn operations(&mut self, name: &'static str) -> Result<u32, TargetError> {
        let most = CostModel::MAX_COST / 1000;
        let expected = format!("a number from 0 to {most} with at most three decimals");
        let given = self.take(name, &expected)?;
        let number = match given {
            #[expect(clippy::cast_precision_loss, reason = "a number that is too large stays so")]
            JsonValue::Whole(number) => number as f64,
            JsonValue::Fraction(number) => number,
            _ => f64::NAN,
        };
        let thousandths = (number * 1000.0).round();
        let is_exact = (thousandths / 1000.0 - number).abs() < 1e-9;
        if is_exact && (0.0..=f64::from(CostModel::MAX_COST)).contains(&thousandths) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked"
            )]
            return Ok(thousandths as u32);
        }
        Err(self.error(name, expected, given.to_string()))
    }
}

/// A value in the JSON of a target. An object keeps repeated fields, so that an error can name
/// them.
enum JsonValue {
    Object(Vec<(String, JsonValue)>),
    Text(String),
    Whole(u64),
    Fraction(f64),
    Other(&'static str),
}

/// Prints a value for error messages.
impl fmt::Display for JsonValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(_) => f.write_str("an object"),
            Self::Text(text) => write!(f, "{:?}", excerpt(text)),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Fraction(number) => write!(f, "{number:?}"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// Returns the first 60 characters of a text, followed by an ellipsis if the text is longer.
fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

impl<'de> Deserialize<'de> for JsonValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = JsonValue;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_bool<E>(self, value: bool) -> Result<JsonValue, E> {
                Ok(JsonValue::Other(if value { "true" } else { "false" }))
            }

            fn visit_unit<E>(self) -> Result<JsonValue, E> {
                Ok(JsonValue::Other("null"))
            }

            fn visit_u64<E>(self, number: u64) -> Result<JsonValue, E> {
                Ok(JsonValue::Whole(number))
            }

            #[expect(
                clippy::cast_precision_loss,
                reason = "a number below 0 is for a message only"
            )]
            fn visit_i64<E>(self, number: i64) -> Result<JsonValue, E> {
                Ok(JsonValue::Fraction(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<JsonValue, E> {
                Ok(JsonValue::Fraction(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<JsonValue, E> {
                Ok(JsonValue::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonValue, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(JsonValue::Other("a list"))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonValue, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(JsonValue::Object(fields))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_survives() {
        for preset in Target::presets() {
            assert_eq!(Target::from_json(&preset.to_json()), Ok(preset));
        }
        let mut target = Target::webgpu();
        target.name = "a \"board\" — 板".into();
        target.max_storage_buffer_binding_size = u64::MAX;
        target.model.lanes = CostModel::MAX_LANES;
        for (thousandths, cost) in
            [1, 999, 1001, 280, CostModel::MAX_COST].into_iter().zip(target.model.costs_mut())
        {
            *cost = thousandths;
        }
        assert_eq!(Target::from_json(&target.to_json()), Ok(target));
    }

    /// Returns the error that results if `from` is replaced by `to` in the JSON of a preset.
    fn error(from: &str, to: &str) -> String {
        let text = Target::webgpu().to_json();
        assert!(text.contains(from), "{from}");
        Target::from_json(&text.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_field_the_value_and_what_is_accepted() {
        let long = format!("\"name\": \"{}\"", "x".repeat(300));
        for (from, to, says) in [
            (
                "\"lanes\": 32",
                "\"lanes\": 0",
                "target.model.lanes: expected a whole number from 1 to 128, got 0",
            ),
            (
                "\"lanes\": 32",
                "\"lanes\": 1e3",
                "target.model.lanes: expected a whole number from 1 to 128, got 1000.0",
            ),
            (
                "\"byte\": 0.87",
                "\"byte\": -1",
                "target.model.byte: expected a number from 0 to 1000 with at most three decimals, got -1.0",
            ),
            (
                "\"byte\": 0.87",
                "\"byte\": 0.8705",
                "target.model.byte: expected a number from 0 to 1000 with at most three decimals, got 0.8705",
            ),
            ("\"byte\": 0.87", "\"byte\": 1e300", "got 1e300"),
            (
                "\"operations_per_microsecond\": 66000000",
                "\"operations_per_microsecond\": 0",
                "target.model.operations_per_microsecond: expected a whole number from 1 to 4294967295, got 0",
            ),
            (
                "\"dispatch_nanoseconds\": 5000",
                "\"dispatch_nanoseconds\": 0.5",
                "target.model.dispatch_nanoseconds: expected a whole number from 0 to 4294967295, got 0.5",
            ),
            (
                "\"byte\": 0.87",
                "\"byte\": \"NaN\"",
                "target.model.byte: expected a number from 0 to 1000 with at most three decimals, got \"NaN\"",
            ),
            ("\"byte\": 0.87", "\"byte\": null", "got null"),
            (
                "\"byte\": 0.87",
                "\"byte\": 0.87, \"byte\": 0.3",
                "target.model.byte: expected one field of this name, got two",
            ),
            (
                "\"byte\": 0.87",
                "\"bite\": 0.87",
                "target.model.byte: expected a number from 0 to 1000 with at most three decimals, got no such field",
            ),
            (
                "\"byte\": 0.87",
                "\"byte\": 0.87, \"heat\": [1]",
                "target.model.heat: expected no field but lanes, access, word, line, byte, spill, operations_per_microsecond, dispatch_nanoseconds, got a list",
            ),
            (
                "\"kind\": \"gpu\"",
                "\"kind\": \"tpu\"",
                "target.kind: expected \"gpu\" or \"cpu\", got \"tpu\"",
            ),
            (
                "\"name\": \"webgpu\"",
                "\"name\": \"\"",
                "target.name: expected a text of 1 to 200 characters, none a control character, got \"\"",
            ),
            ("\"name\": \"webgpu\"", "\"name\": \"a\\u001bb\"", "got \"a\\u{1b}b\""),
            ("\"name\": \"webgpu\"", &long, "target.name: "),
            (
                "65535",
                "4294967296",
                "target.max_compute_workgroups_per_dimension: expected a whole number from 1 to 4294967295, got 4294967296",
            ),
            (
                "134217728",
                "true",
                "target.max_storage_buffer_binding_size: expected a whole number from 4 to 18446744073709551615, got true",
            ),
            ("  \"name\"", "  \"preset\": 1, \"name\"", "target.preset: expected no field but "),
            (
                "\"model\": {",
                "\"model\": 3, \"more\": {",
                "target.model: expected an object, got 3",
            ),
        ] {
            let error = error(from, to);
            assert!(error.contains(says), "{error}");
            assert!(error.len() < 320, "{error}");
        }
    }

    /// Checks that a file without these four fields, which older versions wrote, means WebGPU's
    /// default limit and the default rates of its kind.
    #[test]
    fn older_targets_lack_four_fields() {
        let mut target = Target::webgpu_cpu();
        let json = target.to_json();
        let lacks = ["max_storage_buffers", "read_wr", "operations_per", "dispatch_nano"];
        let kept = |line: &&str| !lacks.iter().any(|name| line.contains(name));
        let older: Vec<&str> = json.lines().filter(kept).collect();
        assert_eq!(older.len() + 4, json.lines().count());
        let older = older.join("\n").replace("\"spill\": 0,", "\"spill\": 0");
        assert_eq!(Target::from_json(&older), Ok(target.clone()));
        (target.max_storage_buffers_per_shader_stage, target.read_write_sources) = (4, true);
        assert_eq!(Target::from_json(&target.to_json()), Ok(target));
    }

    #[test]
    fn text_that_is_no_json_has_a_place() {
        for (text, says) in [
            ("", "target: line 1, column 0: "),
            ("{\n\"name\": nan}", "target: line 2, column 10: "),
            ("{\"name\": 1e999}", "number out of range"),
            ("[]", "target: expected an object, got a list"),
            (&"[".repeat(50_000), "EOF while parsing a list"),
            (&"{\"a\":".repeat(10_000), "recursion limit"),
            (&" ".repeat(MAX_TEXT + 1), "expected at most 65536 bytes, got 65537"),
            ("{} {}", "trailing characters"),
        ] {
            let error = Target::from_json(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
