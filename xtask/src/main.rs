//! Tasks of this project: screenshots, attacks on the guarantees, comparison with OpenTofu, prose
//! measurement.

mod attack;
mod differ;
mod picture;
mod prose;
mod pty;
mod recording;
mod shots;
mod svg;

use clap::{Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
#[command(name = "xtask", about = "Tasks of this project")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the demo in a pseudo-terminal, type keys, and save a picture of each screen
    Shots {
        /// Binary to run; built with `cargo build --release` if not given
        #[arg(long)]
        bin: Option<PathBuf>,
        /// Directory of the screenshots
        #[arg(long, default_value = "screenshots")]
        out: PathBuf,
    },
    /// Attack the guarantees of docs/promises.md: kills, stops, lost stores, races, canaries,
    /// edited plans, changed commands
    Attack {
        /// Number of deploys to kill
        #[arg(long, default_value_t = 500)]
        kills: u64,
        /// Number of runs of each other attack at a random moment
        #[arg(long, default_value_t = 100)]
        others: u64,
        /// Run only the fixed attacks whose title contains this text
        #[arg(long)]
        only: Option<String>,
        /// Seed of the random moments and edits, to repeat a run
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Compare flightdeck with tofu on all configurations of some directories
    Differ(differ::Options),
    /// Measure the language of comments, messages and docs
    Prose(prose::Options),
    /// Draw the frames that tests wrote (FLIGHTDECK_FRAMES=DIR cargo test --lib frames)
    Render {
        frames: Vec<PathBuf>,
        #[arg(long, default_value = "target/frames")]
        out: PathBuf,
    },
}

fn main() -> color_eyre::Result<()> {
    color_eyre::install()?;
    match Args::parse().task {
        Task::Shots { bin, out } => shots::run(bin, &out),
        Task::Attack {
            kills,
            others,
            only,
            seed,
        } => attack::run(&attack::Campaign {
            kills,
            others,
            only,
            seed,
        }),
        Task::Differ(options) => differ::run(&options),
        Task::Prose(options) => prose::run(&options),
        Task::Render { frames, out } => picture::render(&frames, &out),
    }
}
