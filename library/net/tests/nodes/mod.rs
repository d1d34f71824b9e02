//! Two nodes of a test's process.

use corelane_net::Node;

pub fn nodes() -> (Node, Node) {
    let here = Node::listen("127.0.0.1:0").expect("there is a port");
    let there = Node::connect(here.address()).expect("it is an address");
    (here, there)
}
