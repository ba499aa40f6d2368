//! Reading a request's body: bounded in size, time and memory.
//!
//! Nothing is known of the sender before the whole body was read, so what strangers can make the
//! server hold is bounded by the `Room`, whatever the number of connections. A body that is refused
//! anyhow is read on for a while without being kept: a client that is still writing does not look for
//! an answer, and would see a broken connection instead of the reason.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::Rejection;

/// GitHub sends at most 25 MiB; larger deliveries are never sent.
pub const LARGEST: usize = 25 * 1024 * 1024;

/// All bodies in hand together; more than that is refused with 503.
pub(super) const ROOM: usize = 8 * LARGEST;

/// GitHub gives up after ten seconds, so nobody waits longer for it either.
const READ_WITHIN: Duration = Duration::from_secs(10);

/// A refused body is read on up to this size.
const DRAIN: usize = 2 * LARGEST;

/// The memory for bodies, in bytes.
pub(super) struct Room(Semaphore);

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Semaphore::new(bytes))
    }
}

/// A body, and the room it takes until it is dropped.
#[derive(Debug)]
pub(super) struct Kept<'a> {
    pub(super) bytes: Bytes,
    _room: Option<SemaphorePermit<'a>>,
}

/// Reads a body whole.
pub(super) async fn read<'a>(
    headers: &HeaderMap,
    body: Body,
    room: &'a Room,
) -> Result<Kept<'a>, Rejection> {
    if announced(headers).is_some_and(|size| size > LARGEST) {
        measure(headers, body).await?;
        return Err(Rejection::TooLarge);
    }
    within(keep(body, room)).await
}

/// How large a body is that is refused in any case, as far as that matters; nothing of it is kept.
pub(super) async fn measure(headers: &HeaderMap, body: Body) -> Result<usize, Rejection> {
    match announced(headers) {
        Some(size) if size > DRAIN => Ok(size),
        // Whoever waits for "100 Continue" has sent nothing yet and reads the answer at once.
        size if headers.contains_key(header::EXPECT) => Ok(size.unwrap_or_default()),
        _ => within(discard(body)).await,
    }
}

/// The length the client announces. One that cannot be read counts as none: the body is counted.
fn announced(headers: &HeaderMap) -> Option<usize> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

async fn within<T>(read: impl Future<Output = Result<T, Rejection>>) -> Result<T, Rejection> {
    tokio::time::timeout(READ_WITHIN, read)
        .await
        .unwrap_or(Err(Rejection::Late))
}

/// The next piece of a body; `None` at its end.
async fn piece(body: &mut Body) -> Result<Option<Bytes>, Rejection> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(_)) => return Err(Rejection::Broken),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

async fn keep(mut body: Body, room: &Room) -> Result<Kept<'_>, Rejection> {
    let mut bytes = BytesMut::new();
    let mut taken: Option<SemaphorePermit<'_>> = None;
    while let Some(data) = piece(&mut body).await? {
        if bytes.len() + data.len() > LARGEST {
            drop((bytes, taken));
            discard(body).await?;
            return Err(Rejection::TooLarge);
        }
        let more = u32::try_from(data.len())
            .ok()
            .and_then(|size| room.0.try_acquire_many(size).ok())
            .ok_or(Rejection::Crowded)?;
        match &mut taken {
            Some(taken) => taken.merge(more),
            None => taken = Some(more),
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Kept {
        bytes: bytes.freeze(),
        _room: taken,
    })
}

/// Reads on without keeping anything, up to [`DRAIN`]; tells how much there was.
async fn discard(mut body: Body) -> Result<usize, Rejection> {
    let mut total = 0;
    while let Some(data) = piece(&mut body).await? {
        total += data.len();
        if total > DRAIN {
            break;
        }
    }
    Ok(total)
}
