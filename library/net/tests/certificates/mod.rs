//! Certificates of a test, which are made on the spot.

use std::fs;
use std::path::PathBuf;

use corelane_net::Tls;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// An authority, and a certificate of it for this machine. The drop removes the files.
pub struct Certificates {
    folder: PathBuf,
    pub tls: Tls,
}

impl Certificates {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir()
            .join(format!("corelane-certificates-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let tls = Tls {
            authority: folder.join("authority.pem"),
            certificate: folder.join("here.pem"),
            key: folder.join("here.key"),
        };
        write(&tls);
        Self { folder, tls }
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn write(tls: &Tls) {
    let mut authority = CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(&tls.authority, authority.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(authority, key);
    let here = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).unwrap();
    let key = KeyPair::generate().unwrap();
    fs::write(&tls.certificate, here.signed_by(&key, &issuer).unwrap().pem()).unwrap();
    fs::write(&tls.key, key.serialize_pem()).unwrap();
}
