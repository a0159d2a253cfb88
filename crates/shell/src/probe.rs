//! Health probes of group members: an HTTP request, a TCP connection, or a command.

use super::command::{CommandExit, LocalCommand};
use super::output::Output;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Most characters of a reason.
const MAX_REASON: usize = 300;

/// A probe with its final arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// Healthy if the answer has a status from 200 to 299.
    Http(String),
    /// Healthy if `host:port` accepts a connection.
    Tcp(String),
    /// Healthy if the command ends with status 0.
    Command(Vec<String>),
}

/// Runs probes. One client is shared, because each has its own certificates and connections.
pub struct Prober {
    client: reqwest::Client,
    dir: std::path::PathBuf,
}

impl Prober {
    /// Creates a prober for commands in `dir`. Blocking, because it reads certificates.
    ///
    /// # Errors
    /// The HTTP client cannot be set up.
    pub fn new(dir: std::path::PathBuf) -> Result<Self, net::HttpClientError> {
        // A redirect would test another address than the configured one.
        let options = net::HttpOptions {
            redirects: net::Redirects::Return,
            ..net::HttpOptions::default()
        };
        Ok(Self {
            client: net::http_client(&options)?,
            dir,
        })
    }

    /// Probes once, for at most `limit`.
    ///
    /// # Errors
    /// The reason why the member is not healthy.
    pub async fn probe(
        &self,
        probe: &Probe,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let result = match probe {
            Probe::Http(url) => tokio::time::timeout(limit, self.http(url)).await,
            Probe::Tcp(address) => tokio::time::timeout(limit, tcp(address)).await,
            Probe::Command(words) => Ok(self.run(words, limit, cancel).await),
        };
        let result = result.unwrap_or_else(|_| Err(format!("no answer within {limit:?}")));
        // Redacted before the cut, which could remove the end of a user and password.
        result.map_err(|reason| net::redacted(&reason).chars().take(MAX_REASON).collect())
    }

    async fn http(&self, url: &str) -> Result<(), String> {
        let answer = self.client.get(url).send().await;
        // The chain of causes names the reason, such as a refused connection.
        let answer = answer.map_err(|error| causes(&error))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("{status} from {url}")),
        }
    }

    /// Runs a command in the workspace, and kills it after `limit`.
    ///
    /// # Errors
    /// It cannot be started, it fails, or it does not end in time.
    pub async fn run(
        &self,
        words: &[String],
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        if words.is_empty() {
            return Err("the command is empty".to_owned());
        }
        let command = LocalCommand {
            words: words.to_vec(),
            dir: self.dir.clone(),
            environment: Default::default(),
        };
        let output = Output::new(&|_| {});
        let stop = cancel.child_token();
        let ended = {
            let mut running = std::pin::pin!(command.run(&output, &stop));
            match tokio::time::timeout(limit, &mut running).await {
                Ok(ended) => Some(ended),
                Err(_) => {
                    stop.cancel();
                    // Killing the command with all its descendants takes at most a few seconds.
                    drop(running.await);
                    None
                }
            }
        };
        let Some(ended) = ended else {
            let program = &words[0];
            return Err(format!(
                "{program:?} did not end within {limit:?} and was killed"
            ));
        };
        match ended {
            Err(error) => Err(format!("cannot run {:?}: {error}", words[0])),
            Ok(CommandExit::Killed) => Err(format!(
                "{:?} was killed, because the deploy was cancelled",
                words[0]
            )),
            Ok(CommandExit::Status(status)) if status.success() => Ok(()),
            Ok(CommandExit::Status(status)) => {
                let last = output.last().join("\n");
                Err(format!("{:?} failed: {status}. {last}", words[0])
                    .trim_end()
                    .to_owned())
            }
        }
    }
}

async fn tcp(address: &str) -> Result<(), String> {
    match tokio::net::TcpStream::connect(address).await {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("cannot connect to {address}: {error}")),
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let all = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = all.map(ToString::to_string).collect();
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    const LIMIT: Duration = Duration::from_secs(10);

    /// Serves one answer, and returns the address.
    fn server(answer: &'static str) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let _read = stream.read(&mut [0; 1024]);
            stream.write_all(answer.as_bytes()).ok();
        });
        address
    }

    fn words(line: &str) -> Probe {
        let words = ["/bin/sh", "-c", line].map(str::to_owned);
        Probe::Command(words.into())
    }

    #[tokio::test]
    async fn probe_answers_healthy_or_a_reason() {
        let closed = {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            listener.local_addr().expect("an address").to_string()
        };
        let ok = server("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        let broken = server("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n");
        let moved = server("HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n");
        let open = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = open.local_addr().expect("an address").to_string();
        let prober = Prober::new(std::env::temp_dir()).expect("a prober");
        let cancel = CancellationToken::new();
        for (probe, reason) in [
            (Probe::Http(format!("http://{ok}/ready")), ""),
            (Probe::Http(format!("http://{broken}/ready")), "503"),
            (Probe::Http(format!("http://{moved}/ready")), "302"),
            (Probe::Http(format!("http://{closed}/ready")), "refused"),
            (Probe::Http("no url".to_owned()), "builder error"),
            (Probe::Tcp(address), ""),
            (Probe::Tcp(closed), "refused"),
            (words("exit 0"), ""),
            (words("echo not yet; exit 3"), "not yet"),
            (Probe::Command(Vec::new()), "empty"),
            (
                Probe::Command(vec!["/no/such/command".to_owned()]),
                "cannot run",
            ),
        ] {
            let found = prober.probe(&probe, LIMIT, &cancel).await;
            match reason {
                "" => assert_eq!(found, Ok(()), "{probe:?}"),
                _ => assert!(
                    found.clone().is_err_and(|e| e.contains(reason)),
                    "{probe:?}: {found:?}"
                ),
            }
        }
    }

    #[tokio::test]
    async fn hanging_command_is_killed() {
        let prober = Prober::new(std::env::temp_dir()).expect("a prober");
        let cancel = CancellationToken::new();
        let limit = Duration::from_millis(200);
        let found = prober.probe(&words("sleep 1000"), limit, &cancel).await;
        assert!(found.is_err_and(|e| e.contains("did not end within 200ms")));
    }

    #[tokio::test]
    async fn flood_of_output_gives_a_short_reason() {
        let prober = Prober::new(std::env::temp_dir()).expect("a prober");
        let cancel = CancellationToken::new();
        let probe = words("head -c 3000000 /dev/zero | tr '\\0' x; exit 1");
        let found = prober.probe(&probe, LIMIT, &cancel).await;
        assert!(found.is_err_and(|e| e.chars().count() <= MAX_REASON));
    }
}
