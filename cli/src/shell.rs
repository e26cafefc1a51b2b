//! `stridec completions` and `stridec man`: prints shell completions and the manual page.

use clap::CommandFactory;

use super::{
    args::{Cli, CompletionsArgs},
    errors::{Exit, Failure},
    output::print,
};

pub(super) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "stridec", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints a manual page with the program and all of its commands.
pub(super) fn man() -> Result<(), Failure> {
    let mut program = Cli::command();
    program.build();
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(program.clone()).render(&mut page).and_then(|()| {
        program.get_subcommands().filter(|command| command.get_name() != "help").try_for_each(
            |command| {
                let man = clap_mangen::Man::new(command.clone());
                page.extend(format!(".SH {}\n", command.get_name().to_uppercase()).into_bytes());
                man.render_description_section(&mut page)?;
                man.render_synopsis_section(&mut page)?;
                man.render_options_section(&mut page)
            },
        )
    });
    rendered.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    print(&String::from_utf8_lossy(&page))
}
