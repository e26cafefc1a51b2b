//! [`serve`]: answers a stream of requests. Several threads compile, and the responses are written
//! in the order of the requests.

use std::{
    io::{self, BufReader, ErrorKind, Read, Write},
    mem,
    sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    thread,
};

use prost::Message;

use super::{
    frame::{FrameError, StreamItem, read_frame},
    respond,
};
use crate::{
    proto::stridec as proto,
    shape::{FieldPath, MAX_INPUT_BYTES, ShapeError},
};

/// The maximum number of requests that one task answers. With a limit of 1, waking a thread for
/// each task would cost a tenth of the compile time. A larger limit delays responses, because a
/// task passes on its responses only when all of them are ready.
const TOGETHER: usize = 8;

/// The maximum number of tasks that are queued, for each thread, after the task whose responses are
/// being written. With fewer tasks, threads would become idle. With more, only the memory for
/// responses would grow.
const AHEAD: usize = 4;

/// The size of the input buffer in bytes. It is also the number of bytes of responses to collect
/// before a write.
const BUFFERED: usize = 64 << 10;

/// The reason why a stream ended before its input did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The input cannot be read.
    #[error("the input cannot be read: {0}")]
    Input(#[source] io::Error),
    /// The input is not a sequence of messages, so the start of the next message cannot be found.
    /// The last response reports the same error.
    #[error("message {number}: {error}")]
    Framing {
        /// The number of the message, counted from 1.
        number: u64,
        /// The reason why the message cannot be read.
        error: FrameError,
    },
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(#[source] io::Error),
}

/// The responses of one task, in order. Each response comes after its length.
#[derive(Default)]
struct Answers {
    count: u64,
    bytes: Vec<u8>,
}

impl Answers {
    fn push(&mut self, response: &[u8]) {
        // Writing to a vector cannot fail.
        let _ = prost::encode_length_delimiter(response.len(), &mut self.bytes);
        self.bytes.extend(response);
        self.count += 1;
    }
}

/// An item in the queue from the reading thread to the writing thread: a channel for the responses
/// of one task, or the error that ends the stream.
type Pending = Result<Receiver<Answers>, ServeError>;

/// Answers each `stridec.CompileRequest` in `input` with a `stridec.CompileResponse` on `output`,
/// until the input ends. Returns the number of responses.
///
/// In both directions, every message comes after its length as a varint, as written by protobuf's
/// `writeDelimitedTo` and `SerializeDelimitedToOstream`. Requests are compiled in parallel on
/// rayon's threads and answered in order. The output is flushed before `serve` waits for more
/// input, so a client may wait for each response before it sends the next request. If the bytes of
/// a message are not a request, or a message is longer than [`MAX_INPUT_BYTES`], the response is an
/// error and the stream continues. If the reader of `output` closes it, the stream ends without an
/// error, and the result is 0.
///
/// ```
/// use prost::Message;
/// use stridec::{proto::stridec::{CompileRequest, CompileResponse}, service::serve};
/// let mut input = CompileRequest::default().encode_length_delimited_to_vec();
/// input.extend([2, 0xff, 0xff]); // no message
/// let mut output = vec![];
/// assert_eq!(serve(std::io::Cursor::new(input), &mut output)?, 2);
/// let mut output = output.as_slice();
/// for _ in 0..2 {
///     CompileResponse::decode_length_delimited(&mut output)?;
/// }
/// assert!(output.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the input fails or ends in the middle of a message, or if the output fails.
/// If the input is at fault, all messages before that point are answered first.
pub fn serve(input: impl Read + Send + 'static, mut output: impl Write) -> Result<u64, ServeError> {
    let (sender, pending) = sync_channel(AHEAD * rayon::current_num_threads());
    // Nothing joins this thread, because it may still be waiting for input after the output is
    // closed.
    thread::spawn(move || read(BufReader::with_capacity(BUFFERED, input), &sender));
    match write(&pending, &mut output) {
        Err(ServeError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        done => done,
    }
}

/// Reads requests and starts the tasks that answer them, until the input ends or the writing thread
/// has stopped. Sends an item for each task through `sender`, in the order of the requests.
fn read(mut input: BufReader<impl Read>, sender: &SyncSender<Pending>) {
    let mut frames = Vec::with_capacity(TOGETHER);
    for number in 1.. {
        let (answers, pending) = sync_channel(1);
        // Sending fails only after the stream has ended, and then nobody needs the responses.
        let end = match read_frame(&mut input, MAX_INPUT_BYTES) {
            Ok(None) => return,
            Ok(Some(frame)) => {
                frames.push(frame);
                if frames.len() < TOGETHER && holds_message(input.buffer()) {
                    continue;
                }
                let frames = mem::replace(&mut frames, Vec::with_capacity(TOGETHER));
                rayon::spawn(move || drop(answers.send(answer(&frames))));
                None
            }
            Err(FrameError::Read(error)) => {
                drop(sender.send(Err(ServeError::Input(error))));
                return;
            }
            Err(error) => {
                let mut last = Answers::default();
                last.push(&refusal(&malformed(&error).into()));
                drop(answers.send(last));
                Some(ServeError::Framing { number, error })
            }
        };
        if sender.send(Ok(pending)).is_err() {
            return;
        }
        if let Some(end) = end {
            drop(sender.send(Err(end)));
            return;
        }
    }
}

/// Returns true if the buffer contains the whole next message, so that reading it does not wait.
fn holds_message(mut buffer: &[u8]) -> bool {
    prost::decode_length_delimiter(&mut buffer).is_ok_and(|length| length <= buffer.len())
}

fn answer(frames: &[StreamItem]) -> Answers {
    let mut answers = Answers::default();
    for frame in frames {
        match frame {
            StreamItem::Message(request) => answers.push(&respond(request)),
            StreamItem::TooLong(length) => {
                let given = usize::try_from(*length).unwrap_or(usize::MAX);
                answers.push(&refusal(&too_long(given).into()));
            }
        }
    }
    answers
}

/// Writes the responses of all tasks in the order of the requests, as they become available.
/// Returns the number of responses.
fn write(pending: &Receiver<Pending>, output: &mut impl Write) -> Result<u64, ServeError> {
    let mut buffer = Vec::new();
    let mut written = 0;
    loop {
        let next = match pending.try_recv() {
            Ok(next) => next,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                flush(&mut buffer, output)?;
                match pending.recv() {
                    Ok(next) => next,
                    Err(_) => break,
                }
            }
        };
        let answers = match next {
            Ok(answers) => answers,
            Err(error) => {
                flush(&mut buffer, output)?;
                return Err(error);
            }
        };
        let Answers { count, bytes } = if let Ok(ready) = answers.try_recv() {
            ready
        } else {
            flush(&mut buffer, output)?;
            answers.recv().expect("a task sends its answers: `respond` lets no panic out")
        };
        buffer.extend(bytes);
        written += count;
        if buffer.len() >= BUFFERED {
            flush(&mut buffer, output)?;
        }
    }
    flush(&mut buffer, output)?;
    Ok(written)
}

fn flush(buffer: &mut Vec<u8>, output: &mut impl Write) -> Result<(), ServeError> {
    if buffer.is_empty() {
        return Ok(());
    }
    output.write_all(buffer).and_then(|()| output.flush()).map_err(ServeError::Output)?;
    buffer.clear();
    Ok(())
}

fn refusal(error: &crate::Error) -> Vec<u8> {
    proto::CompileResponse::from(proto::Error::from(error)).encode_to_vec()
}

fn too_long(given: usize) -> ShapeError {
    let (field, limit) = (FieldPath::new("input"), MAX_INPUT_BYTES);
    ShapeError::TooMany { field, what: "bytes", given, limit }
}

fn malformed(error: &FrameError) -> ShapeError {
    ShapeError::Decode {
        field: "length".into(),
        reason: error.to_string(),
        message: "stridec.CompileRequest, its length before it,".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Cursor, time::Duration};

    use proto::compile_response::Result as Answer;

    use super::*;
    use crate::request::Tensor;

    fn request(columns: u64) -> Vec<u8> {
        let tensor = |text: String| -> proto::Tensor {
            (&text.parse::<Tensor>().unwrap()).try_into().unwrap()
        };
        let operation = proto::compile_request::Operation::Relayout(proto::Relayout {
            source: Some(tensor(format!("f32[4,{columns}]"))),
            destination: Some(tensor(format!("f32[4,{columns}]{{0,1}}"))),
        });
        let operation = Some(operation);
        proto::CompileRequest { operation, ..Default::default() }.encode_length_delimited_to_vec()
    }

    fn answers(mut output: &[u8]) -> Vec<Answer> {
        let mut answers = vec![];
        while !output.is_empty() {
            let response = proto::CompileResponse::decode_length_delimited(&mut output).unwrap();
            answers.push(response.result.unwrap());
        }
        answers
    }

    #[test]
    fn answers_come_in_order() {
        let input: Vec<u8> = (1..200).flat_map(request).collect();
        let mut output = vec![];
        assert_eq!(serve(Cursor::new(input), &mut output).unwrap(), 199);
        for (columns, answer) in (1..).zip(answers(&output)) {
            let Answer::Kernel(kernel) = answer else { panic!("{answer:?}") };
            assert_eq!(kernel.source_bytes, 16 * columns);
        }
    }

    #[test]
    fn the_stream_survives_bad_messages() {
        let mut input = vec![3, 0xff, 0xff, 0xff];
        prost::encode_length_delimiter(MAX_INPUT_BYTES + 1, &mut input).unwrap();
        input.resize(input.len() + MAX_INPUT_BYTES + 1, 0);
        input.push(0);
        input.extend(request(7));
        let mut output = vec![];
        assert_eq!(serve(Cursor::new(input), &mut output).unwrap(), 4);
        let answers = answers(&output);
        let messages: Vec<&str> = answers[..3]
            .iter()
            .map(|answer| match answer {
                Answer::Error(error) => error.message.as_str(),
                Answer::Kernel(_) | Answer::Program(_) => panic!("compiled"),
            })
            .collect();
        assert!(messages[0].contains("expected a serialized stridec.CompileRequest"));
        assert_eq!(messages[1], "input: expected at most 16777216 bytes, got 16777217");
        assert!(messages[2].starts_with("operation: missing"));
        assert!(matches!(answers[3], Answer::Kernel(_)));
    }

    #[test]
    fn an_input_that_ends_inside_a_message_is_an_error() {
        let mut input = request(7);
        input.extend(&request(8)[..5]);
        let mut output = vec![];
        let error = serve(Cursor::new(input), &mut output).unwrap_err();
        assert!(matches!(error, ServeError::Framing { number: 2, .. }), "{error}");
        let answers = answers(&output);
        assert!(matches!(answers[..], [Answer::Kernel(_), Answer::Error(_)]), "{answers:?}");
    }

    #[test]
    fn a_client_may_wait_for_each_answer() {
        let (client, server) = (io::pipe().unwrap(), io::pipe().unwrap());
        let serving = thread::spawn(move || serve(client.0, server.1));
        let (mut requests, mut responses) = (client.1, BufReader::new(server.0));
        for columns in 1..20 {
            requests.write_all(&request(columns)).unwrap();
            let Ok(Some(StreamItem::Message(response))) =
                read_frame(&mut responses, MAX_INPUT_BYTES)
            else {
                panic!("no response")
            };
            assert!(proto::CompileResponse::decode(response.as_slice()).is_ok());
        }
        drop(requests);
        assert_eq!(serving.join().unwrap().unwrap(), 19);
    }

    #[test]
    fn a_reader_that_went_away_ends_the_stream() {
        let (client, server) = (io::pipe().unwrap(), io::pipe().unwrap());
        drop(server.0);
        let serving = thread::spawn(move || serve(client.0, server.1));
        let mut requests = client.1;
        requests.write_all(&request(1)).unwrap();
        // The input stays open the whole time.
        let started = std::time::Instant::now();
        assert!(serving.join().unwrap().is_ok());
        assert!(started.elapsed() < Duration::from_mins(1));
    }
}
