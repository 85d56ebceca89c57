//! What a browser asks for: the first line of a request of HTTP, and what stands in its address.

use super::planes::{Places, Plane};
use std::io::{ErrorKind, Read};
use std::time::Instant;

/// Bytes of a request, at most: browsers send one or two thousand.
const MOST: usize = 16 << 10;

/// Why there is no answer but a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is no request, or asks for what cannot be.
    Bad,
    /// Nothing is there; also where the token is not in the address.
    NotFound,
    /// Other than GET.
    Method,
    TooLong,
    /// It did not come in time.
    Slow,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Page,
    Plane(Plane),
}

/// Reads a request to the end of its header, which has to be there by then.
pub fn header(stream: &mut impl Read, until: Instant) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        if bytes.len() > MOST {
            return Err(Refused::TooLong);
        }
        if Instant::now() >= until {
            return Err(Refused::Slow);
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(Refused::Bad),
            Ok(count) => bytes.extend(&part[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Refused::Slow);
            }
            Err(_) => return Err(Refused::Bad),
        }
    }
    Ok(bytes)
}

/// What a request's header asks for.
pub fn wanted(header: &[u8], token: &str) -> Result<Wanted, Refused> {
    let line = header.split(|byte| *byte == b'\r').next().and_then(|line| std::str::from_utf8(line).ok());
    let mut words = line.ok_or(Refused::Bad)?.split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Refused::Bad);
    };
    if !version.starts_with("HTTP/1.") {
        return Err(Refused::Bad);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let within = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let (given, rest) = within.ok_or(Refused::NotFound)?;
    if !same(given, token) {
        return Err(Refused::NotFound);
    }
    if method != "GET" {
        return Err(Refused::Method);
    }
    match rest {
        "" => Ok(Wanted::Page),
        "plane" => plane(query).map(Wanted::Plane).ok_or(Refused::Bad),
        _ => Err(Refused::NotFound),
    }
}

/// Takes as long whatever the two have in common.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}

/// `across=z&at=5&down=FIRST,COUNT,STEP&along=FIRST,COUNT,STEP`.
fn plane(query: &str) -> Option<Plane> {
    let value = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let places = |name: &str| {
        let numbers = value(name)?.split(',').map(|number| number.parse().ok()).collect::<Option<Vec<usize>>>()?;
        let [first, count, step] = numbers[..] else { return None };
        Some(Places { first, count, step })
    };
    let across = ["z", "y", "x"].iter().position(|axis| value("across") == Some(axis))?;
    Some(Plane { across, at: value("at")?.parse().ok()?, places: [places("down")?, places("along")?] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn asked(text: &str) -> Result<Wanted, Refused> {
        wanted(text.as_bytes(), "abc")
    }

    #[test]
    fn what_is_asked_for() {
        assert_eq!(asked("GET /abc/ HTTP/1.1\r\nHost: x\r\n\r\n"), Ok(Wanted::Page));
        let places = [Places { first: 1, count: 2, step: 3 }, Places { first: 0, count: 9, step: 1 }];
        let plane = Wanted::Plane(Plane { across: 1, at: 7, places });
        assert_eq!(asked("GET /abc/plane?across=y&at=7&down=1,2,3&along=0,9,1 HTTP/1.1\r\n\r\n"), Ok(plane));
        for (text, refused) in [
            ("", Refused::Bad),
            ("GET", Refused::Bad),
            ("GET /abc/", Refused::Bad),
            ("GET /abc/ HTTP/2\r\n", Refused::Bad),
            ("GET /abc/ HTTP/1.1 more\r\n", Refused::Bad),
            ("GET / HTTP/1.1\r\n", Refused::NotFound),
            ("GET /abc HTTP/1.1\r\n", Refused::NotFound),
            ("GET /abd/ HTTP/1.1\r\n", Refused::NotFound),
            ("GET /abcd/ HTTP/1.1\r\n", Refused::NotFound),
            ("GET //abc/ HTTP/1.1\r\n", Refused::NotFound),
            ("GET /abc/../../etc/passwd HTTP/1.1\r\n", Refused::NotFound),
            ("GET /abc/plane/ HTTP/1.1\r\n", Refused::NotFound),
            ("POST /abc/ HTTP/1.1\r\n", Refused::Method),
            ("POST /abd/ HTTP/1.1\r\n", Refused::NotFound),
            ("GET /abc/plane HTTP/1.1\r\n", Refused::Bad),
            ("GET /abc/plane?across=w&at=7&down=1,2,3&along=0,9,1 HTTP/1.1\r\n", Refused::Bad),
            ("GET /abc/plane?across=y&at=-7&down=1,2,3&along=0,9,1 HTTP/1.1\r\n", Refused::Bad),
            ("GET /abc/plane?across=y&at=7&down=1,2&along=0,9,1 HTTP/1.1\r\n", Refused::Bad),
            ("GET /abc/plane?across=y&at=7&down=1,2,99999999999999999999&along=0,9,1 HTTP/1.1\r\n", Refused::Bad),
        ] {
            assert_eq!(asked(text), Err(refused), "{text}");
        }
        assert_eq!(wanted(b"GET /\xff\xfe/ HTTP/1.1\r\n", "abc"), Err(Refused::Bad));
    }

    #[test]
    fn headers_that_do_not_end() {
        let read = |mut bytes: &[u8], seconds| header(&mut bytes, Instant::now() + Duration::from_secs(seconds));
        assert_eq!(read(b"GET / HTTP/1.1\r\n\r\n", 60).map(|bytes| bytes.len()), Ok(18));
        assert_eq!(read(b"GET / HTTP/1.1\r\n", 60), Err(Refused::Bad));
        assert_eq!(read(&vec![b'a'; 1 << 20], 60), Err(Refused::TooLong));
        assert_eq!(read(b"GET", 0), Err(Refused::Slow));
    }
}
