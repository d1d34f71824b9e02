//! Nodes that show certificates, which are made on the spot.

use std::time::Duration;

use corelane_net::{End, Node, OpenError, Tls};

use certificates::Certificates;

mod certificates;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn nodes_with_certificates_of_an_authority_talk() {
    let own = Certificates::new("talk");
    let here = Node::listen_tls("localhost:0", &own.tls).unwrap();
    let there = Node::connect_tls(here.address(), &own.tls).unwrap();
    let rx = here.lane::<u64>("secret").receiver().unwrap();
    let tx = there.lane::<u64>("secret").sender().unwrap();
    (0..1000).for_each(|n| tx.send(n).unwrap());
    drop(tx);
    assert!(rx.iter().eq(0..1000));
}

#[test]
fn others_do_not() {
    let [own, other] = ["own", "other"].map(Certificates::new);
    let here = Node::listen_tls("localhost:0", &own.tls).unwrap();
    let wrong = Node::connect_tls(here.address(), &other.tls).unwrap();
    let plain = Node::connect(here.address()).unwrap();
    let rx = here.lane::<u64>("secret").gives_up_after(2 * SECOND).receiver().unwrap();
    for node in [wrong, plain] {
        let tx = node.lane::<u64>("secret").sender().unwrap();
        tx.send(13).unwrap();
        assert!(!tx.wait_for_receiver(SECOND));
    }
    assert!(rx.recv().is_err());
    assert_eq!(rx.end(), Some(End::Silent));
}

#[test]
fn a_missing_file_is_named() {
    let tls = Tls { authority: "nowhere.pem".into(), certificate: "a".into(), key: "b".into() };
    let error = Node::listen_tls("localhost:0", &tls).unwrap_err();
    assert!(matches!(&error, OpenError::Engine(reason) if reason.contains("nowhere.pem")));
}
