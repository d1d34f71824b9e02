//! Two nodes of a test's process.

use std::net::TcpListener;

use corelane_net::Node;

/// An address of this machine that nothing listens at.
pub fn address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    listener.local_addr().expect("it is bound").to_string()
}

pub fn nodes() -> (Node, Node) {
    let here = Node::listen("127.0.0.1:0").expect("there is a port");
    let there = Node::connect(here.address()).expect("it is an address");
    (here, there)
}
