//! Recognises common mistakes that clap's message does not explain, and suggests the command that
//! the user probably meant.

use std::ffi::OsString;

use super::errors::quoted;

/// Returns arguments, formatted for messages.
pub(super) fn escaped(arguments: &[OsString]) -> Vec<String> {
    arguments.iter().map(|argument| quoted(&argument.to_string_lossy())).collect()
}

/// Returns a better message than clap's, or `None` if the arguments contain no known mistake.
pub(super) fn explained(args: &[String]) -> Option<String> {
    taken_apart(args).or_else(|| shape_without_flag(args))
}

/// Recognises `f32[2,3]{0,1}` without quotes, which the shell expands to `f32[2,3]0 f32[2,3]1`, and
/// `{1,3,2,0}`, which the shell expands to `1 3 2 0`.
fn taken_apart(args: &[String]) -> Option<String> {
    let (start, first) = args.iter().enumerate().find(|&(at, arg)| {
        let is_shape = arg.contains('[');
        let is_value = at > 0 && matches!(args[at - 1].as_str(), "--to" | "--from");
        (is_shape || is_value)
            && split_number(arg).zip(args.get(at + 1)).is_some_and(|((prefix, _), next)| {
                is_shape != prefix.is_empty() && follows(prefix, next)
            })
    })?;
    let (prefix, _) = split_number(first)?;
    let numbers = args[start..].iter().map_while(|arg| {
        split_number(arg).filter(|&(its, _)| its == prefix).map(|(_, number)| number)
    });
    let braces = format!("{{{}}}", numbers.collect::<Vec<_>>().join(","));
    // The shell expands `--from=f32[2,3]{0,1}` to two flags.
    let shape = match prefix.split_once('=') {
        Some((flag, shape)) if flag.starts_with('-') => shape,
        _ => prefix,
    };
    Some(format!(
        "the shell took `{braces}` apart; write the shape in single quotes: '{shape}{braces}'"
    ))
}

/// Splits an argument into a text and the number at its end. Returns `None` if there is no number
/// at the end.
fn split_number(arg: &str) -> Option<(&str, &str)> {
    let at = arg
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + arg[at..].chars().next().map_or(0, char::len_utf8));
    (at < arg.len()).then(|| arg.split_at(at))
}

/// Returns true if `next` is `prefix` with a number after it.
fn follows(prefix: &str, next: &str) -> bool {
    split_number(next).is_some_and(|(its, _)| its == prefix)
}

/// Recognises `relayout SHAPE SHAPE`, in which the flags `--from` and `--to` are missing.
fn shape_without_flag(args: &[String]) -> Option<String> {
    let operation = args.iter().position(|arg| arg == "relayout" || arg == "slice")?;
    let (before, shape) = (args.get(operation)?, args.get(operation + 1)?);
    let is_shape = shape.contains('[') || shape.starts_with('@');
    if !is_shape || shape.starts_with('-') {
        return None;
    }
    let to = match args.get(operation + 2).filter(|to| !to.starts_with('-')) {
        Some(to) => format!(" --to '{to}'"),
        None => String::new(),
    };
    Some(format!("`{before}` takes its shapes from flags: --from '{shape}'{to}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(line: &str) -> Option<String> {
        explained(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_a_shell_took_apart_is_put_together() {
        for (line, shape) in [
            ("describe f32[2,3]0 f32[2,3]1", "'f32[2,3]{0,1}'"),
            (
                "run relayout --from f32[2,3,4]0 f32[2,3,4]2 f32[2,3,4]1 --to x",
                "'f32[2,3,4]{0,2,1}'",
            ),
            ("run relayout --from=f32[2,3]1 --from=f32[2,3]0", "'f32[2,3]{1,0}'"),
            ("run relayout --from f32[2,3] --to 0 1 -o x", "'{0,1}'"),
            ("run relayout --from f32[2,3]{1,0} --to f32[2,3]0 f32[2,3]1", "'f32[2,3]{0,1}'"),
        ] {
            let message = explain(line).expect(line);
            assert!(message.ends_with(&format!("single quotes: {shape}")), "{message}");
        }
        assert_eq!(explain("describe f32[2,3] --format jsno"), None);
        assert_eq!(explain("offset f32[2,3] --linear 1 2"), None);
        assert_eq!(explain("describe f32[ä1 b"), None);
    }

    #[test]
    fn shapes_go_behind_flags() {
        let message = explain("compile relayout f32[2,3] f32[2,3]{0,1} --emit json").unwrap();
        assert!(message.ends_with("--from 'f32[2,3]' --to 'f32[2,3]{0,1}'"), "{message}");
        assert!(explain("run relayout @a.pb -o x").unwrap().ends_with("--from '@a.pb'"));
        assert_eq!(explain("compile relayout --from f32[2,3]"), None);
    }
}
