//! A browser, and the server to which it connects.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use super::cases::Case;

/// The time limit for all pages together.
const LIMIT: Duration = Duration::from_secs(300);
/// The flags for a browser without a screen, a network or a GPU, with WebGPU on the CPU.
const FLAGS: [&str; 11] = [
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--window-size=1200,900",
];

/// The result that a page shows.
pub(crate) struct Answer {
    pub(crate) verdict: String,
    pub(crate) text: String,
}

/// Opens the page of every case and returns the results. Returns `None` if there is no browser and
/// none is required.
pub(crate) fn answers(cases: &[Case]) -> Option<Vec<Answer>> {
    let Some(chromium) = chromium() else {
        let required = std::env::var_os("STRIDEC_REQUIRE_BROWSER").is_some_and(|n| n == "1");
        assert!(
            !required,
            "no Chromium, and STRIDEC_REQUIRE_BROWSER=1; tests/browser/run.sh installs it"
        );
        eprintln!("\nSKIPPED: no Chromium here; tests/browser/run.sh installs it\n");
        return None;
    };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let profile = tempdir();
    let mut browser = Browser(
        Command::new(chromium)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("http://{address}/"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let harness = include_str!("harness.html").replace("/*CASES*/[]", &listed(cases));
    let pages: Vec<Vec<u8>> = cases.iter().map(|case| case.page.clone().into_bytes()).collect();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let Some(answer) = serve(stream.unwrap(), harness.as_bytes(), &pages) else { continue };
            if send.send(answer).is_err() {
                return;
            }
        }
    });
    let start = Instant::now();
    let mut answers: Vec<Answer> = vec![];
    while answers.len() < cases.len() {
        match receive.recv_timeout(LIMIT.saturating_sub(start.elapsed())) {
            Ok(answer) => answers.push(answer),
            Err(error) => panic!(
                "{error}: no answer from {}; the browser: {:?}",
                cases[answers.len()].name,
                browser.0.try_wait()
            ),
        }
    }
    drop(browser);
    let _ = std::fs::remove_dir_all(profile);
    Some(answers)
}

/// Stops the browser when the test ends.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("STRIDEC_CHROMIUM") {
        return Some(named.into());
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let candidates =
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.into_iter().find(|path| path.is_file())
}

fn tempdir() -> PathBuf {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    std::env::temp_dir().join(format!("stridec-browser-{}-{now}", std::process::id()))
}

/// The cases in the form that the harness reads.
fn listed(cases: &[Case]) -> String {
    let mut text = String::from("[");
    for (number, case) in cases.iter().enumerate() {
        let [source, destination] = &case.places;
        let _ = write!(
            text,
            "{{url:\"/page/{number}#run\",source:{:?},destination:{},button:{}}},",
            source.as_deref().unwrap_or(&[]),
            destination.as_ref().map_or("null".into(), |places| format!("{places:?}")),
            case.expected != "none",
        );
    }
    text + "]"
}

/// Answers one request. A request for the harness or for a page gets the file, and a request with a
/// verdict is returned.
fn serve(mut stream: TcpStream, harness: &[u8], pages: &[Vec<u8>]) -> Option<Answer> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut request = String::new();
    reader.read_line(&mut request).ok()?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = request.split(' ').nth(1)?;
    let mut answer = None;
    let mut parts = path.trim_start_matches('/').split('/');
    let (status, content): (&str, &[u8]) = match (parts.next(), parts.next(), parts.next()) {
        (Some(""), None, None) => ("200 OK", harness),
        (Some("page"), Some(number), None) => {
            ("200 OK", pages.get(number.parse::<usize>().ok()?)?.as_slice())
        }
        (Some("answer"), Some(_), Some(verdict)) => {
            let text = String::from_utf8_lossy(&body).into_owned();
            answer = Some(Answer { verdict: verdict.into(), text });
            ("204 No Content", &[])
        }
        _ => ("404 Not Found", &[]),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(content));
    answer
}
