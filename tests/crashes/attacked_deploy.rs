//! Deploy that runs to its end or is attacked, after a time or at a certain line of its output.

use crate::attack::Attack;
use crate::workspace::{AttackedWorkspace, OPERATIONS, Template};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Limit for every step, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(400);

/// Random numbers that a seed repeats (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut it = Self(seed);
        // Neighbouring seeds would give similar first numbers.
        it.next();
        it
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Random number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// True once in so many times on average.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Deploy without an attack.
pub(crate) struct UndisturbedDeploy {
    pub(crate) took: Duration,
    /// Number of output lines at which a deploy can be killed.
    pub(crate) moments: u64,
}

/// Moment of an attack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    After(Duration),
    /// After this many output lines about operations and their calls.
    Line(u64),
}

impl Moment {
    /// Random moment that suits the attack: before the deploy begins, the store contains nothing
    /// that could be lost.
    pub(crate) fn random(whole: &UndisturbedDeploy, attack: Attack, random: &mut Random) -> Self {
        if attack != Attack::LoseStore && random.one_in(2) {
            Self::After(Duration::from_micros(
                random.below(u64::try_from(whole.took.as_micros()).unwrap()),
            ))
        } else {
            Self::Line(1 + random.below(whole.moments))
        }
    }
}

/// Output of an attacked deploy.
pub(crate) struct AttackedDeploy {
    pub(crate) pid: u32,
    /// The deploy ended before it could be attacked.
    pub(crate) ended: bool,
    lines: Vec<Value>,
}

impl AttackedDeploy {
    fn has_event(&self, kind: &str) -> bool {
        self.lines.iter().any(|l| l["type"] == kind)
    }

    /// True if it was attacked between the begin and the end of its deploy.
    pub(crate) fn was_deploying(&self) -> bool {
        self.has_event("deploy_started") && !self.has_event("deploy_finished")
    }
}

/// True for lines at which a deploy can be killed: a new state of an operation, or a sent or
/// answered call.
fn is_moment(line: &Value) -> bool {
    match line["type"].as_str() {
        Some("operation") => line["state"] == "running" || line["state"] == "done",
        Some("call_started" | "call_finished") => line["method"] == "ApplyResourceChange",
        _ => false,
    }
}

fn start(world: &AttackedWorkspace) -> std::process::Child {
    world
        .workspace
        .command(&["deploy", "--auto-approve", "--json"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Measures a deploy without an attack.
pub(crate) fn measure_deploy(template: &Template) -> UndisturbedDeploy {
    let world = template.copy();
    let began = Instant::now();
    let mut child = start(&world);
    let lines: Vec<Value> = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert!(child.wait().unwrap().success(), "{:#?}", lines.last());
    let took = began.elapsed();
    assert_eq!(
        lines.last().unwrap()["operations"]["done"],
        OPERATIONS,
        "{:#?}",
        lines.last()
    );
    UndisturbedDeploy {
        took,
        moments: lines.iter().filter(|l| is_moment(l)).count() as u64,
    }
}

/// Starts a deploy and attacks it at a moment, unless it ends before.
pub(crate) fn attack_deploy(
    world: &AttackedWorkspace,
    moment: Moment,
    attack: Attack,
    random: &mut Random,
) -> AttackedDeploy {
    let mut child = start(world);
    let pid = child.id();
    let output = BufReader::new(child.stdout.take().unwrap());
    let (said, end) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let (mut lines, mut moments) = (Vec::new(), 0);
        for line in output.lines() {
            // The last line of a killed process may be incomplete.
            let Some(line) = line
                .ok()
                .and_then(|l| serde_json::from_str::<Value>(&l).ok())
            else {
                break;
            };
            moments += u64::from(is_moment(&line));
            if matches!(moment, Moment::Line(n) if n == moments) && is_moment(&line) {
                // The receiver is still alive, so this cannot fail.
                said.send(()).unwrap_or_default();
            }
            lines.push(line);
        }
        lines
    });
    let (wait, by_line) = match moment {
        Moment::After(time) => (time, false),
        Moment::Line(_) => (DEADLINE, true),
    };
    // The end of the output is the end of the process, or shortly before.
    let reached = match end.recv_timeout(wait) {
        Ok(()) => true,
        Err(mpsc::RecvTimeoutError::Timeout) => !by_line,
        Err(mpsc::RecvTimeoutError::Disconnected) => false,
    };
    assert!(
        reached || end.try_recv() != Err(mpsc::TryRecvError::Empty),
        "a deploy that is not disturbed does not end"
    );
    let over = !reached && child.wait().is_ok();
    let status = if over {
        child.wait().unwrap()
    } else {
        attack.carry_out(world, &mut child, random)
    };
    AttackedDeploy {
        pid,
        ended: if attack == Attack::Kill {
            status.code().is_some()
        } else {
            over
        },
        lines: reader.join().unwrap(),
    }
}

/// Waits until no process works in the workspace any more.
pub(crate) fn wait_until_no_process_works(world: &AttackedWorkspace) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(200);
    loop {
        let left = world.processes();
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(format!("processes are left behind: {left:?}"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
