//! Tasks of this project: pictures of the console's screens, the attacks on its promises, the
//! comparison with OpenTofu, the measurement of its language.

mod attack;
mod differ;
mod picture;
mod prose;
mod pty;
mod shots;

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
    /// Run the demo in a pseudo-terminal, type at it, and write a picture of each screen
    Shots {
        /// The program to run; built with `cargo build --release` where it is not there
        #[arg(long)]
        bin: Option<PathBuf>,
        /// Where the pictures go
        #[arg(long, default_value = "screenshots")]
        out: PathBuf,
    },
    /// Attack what is promised (docs/promises.md): kills, stops, ladders, lost stores, races, full
    /// disks, canaries
    Attack {
        /// How many deploys are killed
        #[arg(long, default_value_t = 500)]
        kills: u64,
        /// How many are stopped, taken down the ladder, robbed of their store, and how many races
        /// are run
        #[arg(long, default_value_t = 100)]
        others: u64,
        /// Repeats the choice of moments
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Hold flightdeck against a tofu, on every configuration in some directories
    Differ(differ::Options),
    /// Measure the language of comments, messages and docs
    Prose(prose::Options),
    /// Make a picture of each frame that the tests wrote (FLIGHTDECK_FRAMES=DIR cargo test --lib
    /// frames)
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
            seed,
        } => attack::run(&attack::Campaign {
            kills,
            others,
            seed,
        }),
        Task::Differ(options) => differ::run(&options),
        Task::Prose(options) => prose::run(&options),
        Task::Render { frames, out } => picture::render(&frames, &out),
    }
}
