//! A relay before a database, which can cut what is open, refuse what comes, or hold everything silently.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the relay does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// It carries everything.
    Open,
    /// It cuts every connection, and every new one.
    Cut,
    /// It takes everything and carries nothing, as a network does that lost its other end.
    Silent,
}

/// The relay; ends with its value.
pub struct Relay {
    pub address: SocketAddr,
    line: Arc<watch::Sender<Line>>,
}

impl Relay {
    /// One that carries everything to there.
    pub async fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let line = Arc::new(watch::channel(Line::Open).0);
        let weak = Arc::downgrade(&line);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Some(line) = weak.upgrade() else { return };
                tokio::spawn(carry(near, target.clone(), line.subscribe()));
            }
        });
        Self { address, line }
    }

    /// From now on it does this.
    pub fn set(&self, line: Line) {
        self.line.send_replace(line);
    }
}

async fn carry(mut near: TcpStream, target: String, mut line: watch::Receiver<Line>) {
    if *line.borrow() == Line::Cut {
        return;
    }
    // Who comes while it is silent is held like the others.
    if line.wait_for(|line| *line != Line::Silent).await.is_err() {
        return;
    }
    let Ok(mut far) = TcpStream::connect(&target).await else {
        return;
    };
    let (mut up, mut down) = (vec![0; 1 << 14], vec![0; 1 << 14]);
    loop {
        let now = *line.borrow_and_update();
        match now {
            Line::Cut => return,
            Line::Silent => {
                if line.changed().await.is_err() {
                    return;
                }
            }
            Line::Open => tokio::select! {
                changed = line.changed() => if changed.is_err() { return },
                read = near.read(&mut up) => match read {
                    Ok(read @ 1..) if far.write_all(&up[..read]).await.is_ok() => {}
                    _ => return,
                },
                read = far.read(&mut down) => match read {
                    Ok(read @ 1..) if near.write_all(&down[..read]).await.is_ok() => {}
                    _ => return,
                },
            },
        }
    }
}
