//! Durable lanes of a server that demands certificates.

use std::time::{Duration, Instant};

use corelane_net::durable::Store;
use corelane_net::{OpenError, Tls};

use certificates::Certificates;
use server::Server;

mod certificates;
mod server;

const SECOND: Duration = Duration::from_secs(1);

fn connect(server: &Server, tls: &Tls) -> Result<Store, OpenError> {
    Store::at(&server.address).monitor(&server.monitor).tls(tls).connect()
}

/// The reason of a refusal, which names the mend and comes soon.
fn refusal(connect: impl FnOnce() -> Result<Store, OpenError>) -> String {
    let begin = Instant::now();
    let error = connect().unwrap_err();
    assert!(begin.elapsed() < 10 * SECOND, "{error}, after {:?}", begin.elapsed());
    assert!(error.to_string().contains("certificates of one authority"), "{error}");
    assert!(error.to_string().contains("given by tls()"), "{error}");
    let OpenError::Certificates { reason, .. } = error else { panic!("{error}") };
    reason
}

#[test]
fn items_go_through_a_server_that_knows_both_ends() {
    let own = Certificates::new("through");
    let Some(mut server) = Server::start_tls("through", &own.tls) else { return };
    let [sends, receives] = [(); 2].map(|()| connect(&server, &own.tls).unwrap());
    let rx = receives.lane::<u64>("secret").receiver("reader").unwrap();
    let tx = sends.lane::<u64>("secret").sender("writer").unwrap();
    (0..1000).for_each(|n| tx.send(n).unwrap());
    (0..1000).for_each(|n| assert_eq!(rx.recv_timeout(10 * SECOND), Ok(n)));
    // Connections that come again show certificates, too.
    server.kill();
    (1000..2000).for_each(|n| tx.send(n).unwrap());
    server.start_again();
    tx.finish(20 * SECOND).unwrap();
    (1000..2000).for_each(|n| assert_eq!(rx.recv_timeout(20 * SECOND), Ok(n)));
}

#[test]
fn others_are_refused() {
    let [own, other] = ["own", "other"].map(Certificates::new);
    let Some(server) = Server::start_tls("refuses", &own.tls) else { return };
    let plain = || Store::at(&server.address).monitor(&server.monitor).connect();
    let reason = refusal(plain);
    assert!(reason.starts_with("the server demands TLS"), "{reason}");
    // This program doesn't trust the server.
    let reason = refusal(|| connect(&server, &other.tls));
    assert!(reason.contains("invalid peer certificate"), "{reason}");
    // The server doesn't trust this program.
    let unknown = Tls { authority: own.tls.authority.clone(), ..other.tls.clone() };
    let reason = refusal(|| connect(&server, &unknown));
    assert!(reason.contains("alert"), "{reason}");
    let unpaired = Tls { key: other.tls.key.clone(), ..own.tls.clone() };
    let reason = refusal(|| connect(&server, &unpaired));
    assert!(reason.contains("certificate or key"), "{reason}");
}

#[test]
fn a_server_without_tls_is_refused() {
    let own = Certificates::new("plain");
    let Some(server) = Server::start("plain") else { return };
    refusal(|| connect(&server, &own.tls));
}

#[test]
fn a_missing_file_is_named() {
    let own = Certificates::new("missing");
    let tls = Tls { key: "nowhere.key".into(), ..own.tls.clone() };
    let error = Store::at("127.0.0.1:1").tls(&tls).connect().unwrap_err();
    assert!(matches!(&error, OpenError::Engine(reason) if reason.contains("nowhere.key")));
}
