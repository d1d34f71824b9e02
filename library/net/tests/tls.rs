//! Nodes that show certificates, which are made on the spot.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corelane_net::{End, Node, OpenError, Tls};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

const SECOND: Duration = Duration::from_secs(1);

/// A folder that is removed.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("corelane-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An authority, and a certificate of it for this machine.
fn certificates(folder: &Path) -> Tls {
    let tls = Tls {
        authority: folder.join("authority.pem"),
        certificate: folder.join("here.pem"),
        key: folder.join("here.key"),
    };
    let mut authority = CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(&tls.authority, authority.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(authority, key);
    let here = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
    let key = KeyPair::generate().unwrap();
    fs::write(&tls.certificate, here.signed_by(&key, &issuer).unwrap().pem()).unwrap();
    fs::write(&tls.key, key.serialize_pem()).unwrap();
    tls
}

fn address() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("localhost:{port}")
}

#[test]
fn nodes_with_certificates_of_an_authority_talk() {
    let folder = Folder::new("talk");
    let tls = certificates(&folder.0);
    let address = address();
    let here = Node::listen_tls(&address, &tls).unwrap();
    let there = Node::connect_tls(&address, &tls).unwrap();
    let rx = here.lane::<u64>("secret").receiver().unwrap();
    let tx = there.lane::<u64>("secret").sender().unwrap();
    (0..1000).for_each(|n| tx.send(n).unwrap());
    drop(tx);
    assert!(rx.iter().eq(0..1000));
}

#[test]
fn others_do_not() {
    let folders = [Folder::new("one"), Folder::new("other")];
    let [tls, other] = folders.each_ref().map(|folder| certificates(&folder.0));
    let address = address();
    let here = Node::listen_tls(&address, &tls).unwrap();
    let wrong = Node::connect_tls(&address, &other).unwrap();
    let plain = Node::connect(&address).unwrap();
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
    let error = Node::listen_tls(&address(), &tls).unwrap_err();
    assert!(matches!(&error, OpenError::Engine(reason) if reason.contains("nowhere.pem")));
}
