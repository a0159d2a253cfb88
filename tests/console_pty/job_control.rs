//! Tests of job control: ctrl-z, `fg`, `bg`, and stop signals from outside, any number of times.
//! The tests use several real shells, which restore the terminal of a resumed program differently.

use crate::console_workspace::*;
use crate::pty::Pty;
use portable_pty::CommandBuilder;
use rustix::process::Signal;
use std::time::Instant;

const PROMPT: &str = "ready>";

/// Console that was started from a shell.
struct ShellJob {
    c: Pty,
    w: Workspace,
}

impl ShellJob {
    /// Runs a test with each available shell.
    fn for_each_shell(mut test: impl FnMut(Self)) {
        let shells: [&[&str]; 2] = [&["sh", "-i"], &["bash", "--norc", "--noprofile", "-i"]];
        let there = |shell: &&[&str]| {
            ["/bin", "/usr/bin"]
                .iter()
                .any(|p| std::path::Path::new(p).join(shell[0]).exists())
        };
        for shell in shells.into_iter().filter(there) {
            println!("under {}", shell[0]);
            let w = Workspace::bundled();
            let mut command = CommandBuilder::new(shell[0]);
            command.args(&shell[1..]);
            command.env("PS1", format!("{PROMPT} "));
            command.env_remove("ENV");
            // Bracketed paste of the shell itself must not look like a mode that the console left
            // on.
            let inputrc = w.path().join("inputrc");
            std::fs::write(&inputrc, "set enable-bracketed-paste off\n").unwrap();
            command.env("INPUTRC", inputrc);
            let mut c = Pty::start(command, 120, 40).unwrap();
            c.wait(PROMPT, SOON).unwrap();
            c.keys(&format!("{FLIGHTDECK} '{}'\r", w.path().display()))
                .unwrap();
            let mut job = Self { c, w };
            job.assert_console_has_terminal();
            job.c.wait("● ready", LONG).unwrap();
            test(job);
        }
    }

    fn wait_until(&self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let end = Instant::now() + SOON;
        while !self.c.with_screen(&wanted) {
            assert!(
                Instant::now() < end,
                "waited until {what}; the screen says:\n{}",
                self.c.text()
            );
            std::thread::sleep(LOOK);
        }
    }

    /// Checks that the console draws and receives single keys.
    fn assert_console_has_terminal(&mut self) {
        // After a stop from outside the old screen is still visible, together with the prompt. A
        // key typed before the next frame may go to the shell.
        let there = |text: &str| text.contains("1 Plugins") && !text.contains(PROMPT);
        self.wait_until("the console alone is there", |s| {
            s.alternate_screen() && there(&s.contents())
        });
        self.c.keys("3").unwrap();
        self.wait_until("a key is heard", |s| s.contents().contains("No stage yet"));
        self.c.keys("1").unwrap();
        self.wait_until("another key is heard", |s| s.contents().contains("PLUGIN"));
    }

    /// Checks that the shell has the terminal, in cooked mode.
    fn assert_shell_has_terminal(&mut self, n: u32) {
        self.wait_until("the shell asks", |s| {
            !s.alternate_screen() && s.contents().trim_end().ends_with(PROMPT)
        });
        self.c.with_screen(assert_terminal_restored);
        // The awaited text must not occur in the echoed command line, only in its output.
        self.c
            .keys(&format!(
                "stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo \"cooked \"{n}\r"
            ))
            .unwrap();
        self.c.wait(&format!("cooked {n}"), SOON).unwrap();
        self.wait_until("the shell asks again", |s| {
            s.contents().trim_end().ends_with(PROMPT)
        });
    }

    fn console(&self) -> i32 {
        plugins(pid(&self.c))
            .first()
            .expect("the shell has a child")
            .0
    }

    fn quit(mut self) {
        self.c.keys("q").unwrap();
        self.wait_until("the shell asks", |s| {
            !s.alternate_screen() && s.contents().trim_end().ends_with(PROMPT)
        });
        self.c.with_screen(assert_terminal_restored);
        self.c.keys("exit\r").unwrap();
        self.c.end(SOON).unwrap();
        self.w.assert_unlocked();
    }
}

#[test]
fn ctrl_z_and_fg_hand_over_the_terminal_repeatedly() {
    ShellJob::for_each_shell(|mut job| {
        for n in 0..12 {
            job.c.keys("\x1a").unwrap();
            job.assert_shell_has_terminal(n);
            // The terminal may have changed its size meanwhile.
            let wide = if n % 2 == 0 { 100 } else { 120 };
            job.c.resize(wide, 30).unwrap();
            job.c.keys("fg\r").unwrap();
            job.assert_console_has_terminal();
        }
        job.quit();
    });
}

#[test]
fn console_stopped_from_outside_redraws_after_fg() {
    ShellJob::for_each_shell(|mut job| {
        for signal in [Signal::STOP, Signal::TSTP] {
            send(job.console(), signal);
            job.wait_until("the shell asks", |s| s.contents().contains(PROMPT));
            // The terminal is still in the console's raw mode, which does not translate a carriage
            // return.
            job.c.keys("fg\n").unwrap();
            job.assert_console_has_terminal();
        }
        job.quit();
    });
}

#[test]
fn console_in_the_background_continues_without_the_terminal() {
    ShellJob::for_each_shell(|mut job| {
        let console = job.console();
        let state = || stat(console).unwrap().1;
        job.c.keys("\x1a").unwrap();
        job.assert_shell_has_terminal(1);
        assert_eq!(state(), 'T');
        job.c.keys("bg\r").unwrap();
        // Longer than the console's interval for checking the foreground process group.
        for n in 2..6 {
            job.assert_shell_has_terminal(n);
            std::thread::sleep(LOOK * 20);
        }
        assert_ne!(state(), 'T', "it is stopped");
        job.c.keys("fg\r").unwrap();
        job.assert_console_has_terminal();
        job.quit();
    });
}

/// Session and process group were created outside the container: inside, both ids are 0.
#[test]
fn ctrl_z_in_a_container_with_an_outer_session_is_refused() {
    let container = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ];
    if !std::process::Command::new("unshare")
        .args(container)
        .arg("true")
        .status()
        .is_ok_and(|s| s.success())
    {
        cty::testing::skipped("this machine lets nobody make a pid namespace");
        return;
    }
    let w = Workspace::bundled();
    let mut command = CommandBuilder::new("unshare");
    command.args(container);
    // Without this shell, flightdeck would be process 1 without a parent, which is another case.
    command.args(["sh", "-c", "\"$0\" \"$1\"; exit $?", FLIGHTDECK]);
    command.arg(w.path());
    let mut c = Pty::start(command, 120, 40).unwrap();
    c.wait("● ready", LONG).unwrap();
    c.keys("\x1a").unwrap();
    c.wait("cannot suspend", SOON).unwrap();
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
    w.assert_unlocked();
}

#[test]
fn ctrl_z_without_a_shell_is_refused() {
    let w = Workspace::bundled();
    let mut c = w.console();
    c.wait("● ready", LONG).unwrap();
    c.keys("\x1a").unwrap();
    c.wait("cannot suspend: flightdeck has no parent shell", SOON)
        .unwrap();
    c.with_screen(|s| assert!(s.alternate_screen()));
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
}
