use super::*;

struct Silent;
impl PluginObserver for Silent {
    fn event(&self, _: PluginEvent) {}

    fn secrets(&self) -> model::secrets::Secrets {
        model::secrets::Secrets::default()
    }
}

#[test]
fn log_line_time_is_used_unless_it_is_implausible() {
    assert_eq!(line_time(None, 100_000), 100_000);
    assert_eq!(line_time(Some(99_000), 100_000), 99_000);
    assert_eq!(line_time(Some(100_001), 100_000), 100_000);
    assert_eq!(line_time(Some(39_999), 100_000), 100_000);
}

#[tokio::test]
async fn long_log_lines_are_truncated_and_the_next_ones_are_complete() {
    let text = format!("{}\nnext\nlast", "x".repeat(100));
    let mut reader = tokio::io::BufReader::with_capacity(7, text.as_bytes());
    let mut line = Vec::new();
    assert_eq!(
        read_line(&mut reader, &mut line, 10).await.expect("read"),
        101
    );
    assert_eq!(line, "xxxxxxxxxx… (90 bytes more)".as_bytes());
    read_line(&mut reader, &mut line, 10).await.expect("read");
    assert_eq!(line, b"next");
    read_line(&mut reader, &mut line, 10).await.expect("read");
    assert_eq!(line, b"last");
    assert_eq!(
        read_line(&mut reader, &mut line, 10).await.expect("read"),
        0
    );
}

/// However the bytes arrive, the lines are those of the whole text, truncated at the limit.
#[test]
fn lines_do_not_depend_on_the_read_chunk_size() {
    use proptest::prelude::*;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    proptest!(|(bytes in prop::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')], 0..200), size in 1usize..40, limit in 0usize..20)| {
        let mut reader = tokio::io::BufReader::with_capacity(size, bytes.as_slice());
        let (mut line, mut total) = (Vec::new(), 0);
        let mut whole = bytes.split(|b| *b == b'\n');
        loop {
            let read = runtime.block_on(read_line(&mut reader, &mut line, limit)).expect("memory can be read");
            if read == 0 {
                break;
            }
            total += read;
            let expected = whole.next().expect("no more lines than there are");
            let kept = expected.len().min(limit);
            prop_assert_eq!(&line[..kept], &expected[..kept]);
            prop_assert_eq!(line.len() > kept, expected.len() > limit);
        }
        prop_assert_eq!(total, bytes.len());
        prop_assert!(whole.all(<[u8]>::is_empty));
    });
}

#[test]
fn stored_log_lines_are_bounded() {
    let logs = Logs::new(PluginId("x/y".into()), Arc::new(Silent));
    for n in 0..2_000 {
        logs.add_line(LogStream::Stderr, format!("line {n}").as_bytes());
    }
    assert_eq!(logs.last(10_000).len(), RING);
    assert_eq!(logs.last(1)[0].text, "line 1999");
    assert_eq!(logs.tail().len(), ATTEMPT_TAIL);
    logs.add_line(LogStream::Stderr, b"panic: nil map");
    for _ in 0..500 {
        logs.add_line(LogStream::Stderr, b"goroutine 1 [running]:");
    }
    assert_eq!(logs.trace().len(), TRACE);
    let ending = logs.exit_lines(TRACE);
    assert_eq!(
        (ending.len(), ending[LINES_BEFORE_PANIC].text.as_str()),
        (TRACE, "panic: nil map")
    );
    assert_eq!(ending[LINES_BEFORE_PANIC - 1].text, "line 1999");
    assert_eq!(logs.tail()[0], "panic: nil map", "and no frame of the end");
    assert_eq!(logs.last_output().as_deref(), Some("panic: nil map"));
    logs.begin_launch();
    assert!(logs.trace().is_empty() && logs.tail().is_empty());
    assert_eq!(logs.last(10_000).len(), RING, "lines survive a relaunch");
}

#[test]
fn log_messages_are_assembled_into_lines() {
    let mut lines = Vec::new();
    let mut assembler = LineAssembler::default();
    for piece in ["a", "b\nc\n", "", "d"] {
        assembler.feed(piece.as_bytes(), |l| {
            lines.push(String::from_utf8_lossy(l).into_owned())
        });
    }
    assembler.finish(|l| lines.push(String::from_utf8_lossy(l).into_owned()));
    assert_eq!(lines, ["ab", "c", "d"]);
}
