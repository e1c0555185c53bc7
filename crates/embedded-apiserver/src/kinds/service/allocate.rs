//! Cluster IPs and node ports of Services: `pkg/registry/core/service/storage/alloc.go`.

use std::collections::HashMap;

use serde_json::Value;

use crate::kinds::allocation::{Claim, Reservation};
use crate::kinds::field::{Bad, Errors, Path};
use crate::kinds::strategy::Scope;
use crate::kinds::{content, go, ip, tree};
use crate::status::Status;

use super::families;
use super::spec::Spec;

const CLUSTER_IPS: Path<'static> = Path::root("spec.clusterIPs");
const PORTS: Path<'static> = Path::root("spec.ports");

/// The allocations of a stored Service.
pub(super) fn claims(spec: Spec<'_>) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    if !spec.is_external_name() {
        claims.extend(spec.cluster_ips().into_iter().filter_map(ip::parse).map(Claim::Ip));
    }
    claims.extend(spec.node_ports().into_iter().filter_map(port_claim));
    if spec.needs_health_check() {
        claims.extend(port_claim(spec.health_check_port()));
    }
    claims
}

fn port_claim(port: i64) -> Option<Claim> {
    u16::try_from(port).ok().filter(|port| *port > 0).map(Claim::Port)
}

/// Allocates what a new Service lacks, and what it asks for.
pub(super) fn for_create(scope: &Scope<'_>, object: &mut Value) -> Result<Reservation, Status> {
    let mut work = Work::new(scope, object);
    let spec = tree::field_mut(object, "spec");
    work.fill_families(spec, None)?;
    work.cluster_ips(spec)?;
    if Spec(spec).has_node_ports() {
        work.node_ports(spec)?;
    }
    if Spec(spec).needs_health_check() {
        work.health_check_port(spec)?;
    }
    Ok(work.reservation)
}

/// Allocates what a changed Service lacks, and plans to give back what it no longer uses.
pub(super) fn for_update(scope: &Scope<'_>, object: &mut Value, old: &Value) -> Result<Reservation, Status> {
    let mut work = Work::new(scope, object);
    let spec = tree::field_mut(object, "spec");
    let old = Spec::of(old);
    work.fill_families(spec, Some(old))?;
    work.update_cluster_ips(spec, old)?;
    if old.has_node_ports() && matches!(Spec(spec).service_type(), "ExternalName" | "ClusterIP") {
        work.free_ports(old.node_ports());
    }
    if Spec(spec).has_node_ports() {
        work.update_node_ports(spec, old)?;
    }
    match (old.needs_health_check(), Spec(spec).needs_health_check()) {
        (false, true) => work.health_check_port(spec)?,
        (true, false) => work.free_ports(vec![old.health_check_port()]),
        _ => {}
    }
    Ok(work.reservation)
}

struct Work<'a> {
    scope: &'a Scope<'a>,
    name: String,
    reservation: Reservation,
}

impl<'a> Work<'a> {
    fn new(scope: &'a Scope<'a>, object: &Value) -> Self {
        let name = tree::text(tree::field(object, "metadata"), "name").to_owned();
        Self { scope, name, reservation: scope.allocators.begin(scope.dry_run) }
    }

    fn invalid(&self, errors: Errors) -> Status {
        errors.into_status("", "Service", &self.name)
    }

    fn one_invalid<'v>(&self, path: &Path<'_>, bad: impl Into<Bad<'v>>, detail: &str) -> Status {
        let mut errors = Errors::default();
        errors.invalid(path, bad, detail);
        self.invalid(errors)
    }

    fn fill_families(&self, spec: &mut Value, old: Option<Spec<'_>>) -> Result<(), Status> {
        families::fill(spec, old).map_err(|errors| self.invalid(errors))
    }

    /// Takes an address for each family of a Service that had none.
    fn cluster_ips(&mut self, spec: &mut Value) -> Result<(), Status> {
        let is_headless = Spec(spec).cluster_ips().first() == Some(&"None");
        if Spec(spec).is_external_name() || is_headless {
            return Ok(());
        }
        let count = Spec(spec).families().len();
        self.take_cluster_ips(spec, 0, count)
    }

    fn update_cluster_ips(&mut self, spec: &mut Value, old: Spec<'_>) -> Result<(), Status> {
        // A PUT of the status has created it. The real server's repair reserves what it is given now.
        if old.cluster_ips().is_empty() && !old.is_external_name() {
            for ip in Spec(spec).cluster_ips().into_iter().filter_map(ip::parse) {
                _ = self.reservation.take_ip(ip);
            }
            return Ok(());
        }
        if families::is_unchanged_preference(Spec(spec), old) {
            return Ok(());
        }
        match (old.is_external_name(), Spec(spec).is_external_name()) {
            (true, false) => return self.cluster_ips(spec),
            (_, true) if !old.is_headless() => {
                self.free_ips(&old.cluster_ips());
                return Ok(());
            }
            _ if old.is_headless() => return Ok(()),
            _ => {}
        }
        match (old.families().len(), Spec(spec).families().len()) {
            (1, 2) => self.take_cluster_ips(spec, 1, 2),
            (2, 1) => {
                self.free_ips(old.cluster_ips().get(1..).unwrap_or_default());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes the addresses `first..end` of the Service, random ones where it asks for none.
    fn take_cluster_ips(&mut self, spec: &mut Value, first: usize, end: usize) -> Result<(), Status> {
        let wanted: Vec<String> = Spec(spec).families().into_iter().map(str::to_owned).collect();
        let mut ips: Vec<Value> = tree::list(spec, "clusterIPs").to_vec();
        ips.resize(ips.len().max(end), Value::from(""));
        for (index, family) in wanted.iter().enumerate().take(end).skip(first) {
            let asked = ips.get(index).and_then(Value::as_str).unwrap_or_default();
            let taken = if asked.is_empty() {
                let ip = self.next_ip(family)?;
                self.check_owner(&ip, "", &ips)?;
                ip
            } else {
                let ip = ip::parse(asked).ok_or_else(|| {
                    Status::internal(format!("failed to parse service IP {}", go::quote(asked)))
                })?;
                self.reservation.check_range(ip).map_err(|reason| self.ip_refused(asked, &reason, &ips))?;
                // Upstream finds out that the address is taken when it stores the `IPAddress`.
                self.check_owner(asked, &format!(" {asked}"), &ips)?;
                let taken = self.reservation.take_ip(ip);
                taken.map_err(|reason| self.ip_refused(asked, &reason, &ips))?;
                asked.to_owned()
            };
            if let Some(ip) = ips.get_mut(index) {
                *ip = Value::from(taken);
            }
        }
        if let Some(primary) = ips.first() {
            tree::set(spec, "clusterIP", primary.clone());
        }
        tree::set(spec, "clusterIPs", ips);
        Ok(())
    }

    fn ip_refused(&self, asked: &str, reason: &str, ips: &[Value]) -> Status {
        let detail = format!("failed to allocate IP {asked}: {reason}");
        self.one_invalid(&CLUSTER_IPS, Value::from(ips.to_vec()), &detail)
    }

    /// Upstream makes an `IPAddress` that names the Service, so that one with a bad name fails here.
    fn check_owner(&self, ip: &str, asked: &str, ips: &[Value]) -> Result<(), Status> {
        let path = Path::root("spec.parentRef.name");
        let mut errors = Errors::default();
        if self.name.is_empty() {
            errors.required(&path, "");
        }
        errors.invalid_each(&path, &self.name, &content::path_segment(&self.name, false));
        if errors.is_empty() || self.scope.dry_run {
            return Ok(());
        }
        let ip = go::quote(ip);
        let detail =
            format!("failed to allocate IP{asked}: IPAddress.networking.k8s.io {ip} is invalid: {errors}");
        Err(self.one_invalid(&CLUSTER_IPS, Value::from(ips.to_vec()), &detail))
    }

    fn next_ip(&mut self, family: &str) -> Result<String, Status> {
        let networks = self.scope.allocators.services();
        let network = networks.iter().find(|network| families::family_of(network) == family);
        let ip = network.and_then(|network| self.reservation.next_ip(*network, self.scope.environment));
        let full = || {
            let name = go::quote(&self.name);
            Status::internal(format!("failed to allocate a serviceIP for Service {name}: range is full"))
        };
        ip.map(|ip| ip.to_string()).ok_or_else(full)
    }

    /// Takes the node ports of a new Service. Ports of the same number share one.
    fn node_ports(&mut self, spec: &mut Value) -> Result<(), Status> {
        let allocates = Spec(spec).allocates_node_ports();
        let mut asked: HashMap<i64, i64> = HashMap::new();
        for port in Spec(spec).ports().iter().filter(|port| tree::int(port, "nodePort") != 0) {
            asked.entry(tree::int(port, "port")).or_insert_with(|| tree::int(port, "nodePort"));
        }
        let mut taken: HashMap<i64, i64> = HashMap::new();
        for (index, port) in tree::list_mut(spec, "ports").iter_mut().enumerate() {
            let (number, own) = (tree::int(port, "port"), tree::int(port, "nodePort"));
            if own == 0 && !allocates {
                continue;
            }
            let node_port = match (taken.get(&number), asked.get(&number)) {
                (None, Some(asked)) => self.take_port(*asked, index)?,
                (None, None) => self.next_port()?,
                (Some(taken), _) if own == 0 || own == *taken => *taken,
                (Some(_), _) => {
                    self.take_port(own, index)?;
                    continue;
                }
            };
            taken.insert(number, node_port);
            tree::set(port, "nodePort", node_port);
        }
        Ok(())
    }

    fn update_node_ports(&mut self, spec: &mut Value, old: Spec<'_>) -> Result<(), Status> {
        let before = old.node_ports();
        let allocates = Spec(spec).allocates_node_ports();
        let mut taken: Vec<i64> = Vec::new();
        let mut seen: Vec<(String, i64)> = Vec::new();
        for (index, port) in tree::list_mut(spec, "ports").iter_mut().enumerate() {
            let mut node_port = tree::int(port, "nodePort");
            if node_port == 0 && !allocates {
                continue;
            }
            if node_port == 0 {
                node_port = self.next_port()?;
                tree::set(port, "nodePort", node_port);
            } else if !before.contains(&node_port) && !taken.contains(&node_port) {
                self.take_port(node_port, index)?;
                taken.push(node_port);
            }
            let key = (tree::text(port, "protocol").to_owned(), node_port);
            if seen.contains(&key) {
                let message = format!("duplicate nodePort: {{{} {node_port}}}", key.0);
                return Err(Status::new(500, "", message));
            }
            seen.push(key);
        }
        let now = Spec(spec).node_ports();
        self.free_ports(before.into_iter().filter(|port| !now.contains(port)).collect());
        Ok(())
    }

    fn health_check_port(&mut self, spec: &mut Value) -> Result<(), Status> {
        let asked = Spec(spec).health_check_port();
        if asked == 0 {
            let port = self.reservation.next_port(self.scope.environment).ok_or_else(|| {
                Status::internal("failed to allocate a HealthCheck NodePort 0: range is full")
            })?;
            tree::set(spec, "healthCheckNodePort", port);
            return Ok(());
        }
        self.reservation.take_port(asked).map_err(|reason| {
            Status::internal(format!("failed to allocate requested HealthCheck NodePort {asked}: {reason}"))
        })
    }

    fn take_port(&mut self, port: i64, index: usize) -> Result<i64, Status> {
        let taken = self.reservation.take_port(port);
        taken.map_err(|reason| self.one_invalid(&PORTS.index(index).child("nodePort"), port, &reason))?;
        Ok(port)
    }

    fn next_port(&mut self) -> Result<i64, Status> {
        let port = self.reservation.next_port(self.scope.environment);
        port.map(i64::from).ok_or_else(|| Status::internal("failed to allocate a nodePort: range is full"))
    }

    fn free_ports(&mut self, ports: Vec<i64>) {
        for claim in ports.into_iter().filter_map(port_claim) {
            self.reservation.free(claim);
        }
    }

    fn free_ips(&mut self, ips: &[&str]) {
        for ip in ips.iter().filter_map(|ip| ip::parse(ip)) {
            self.reservation.free(Claim::Ip(ip));
        }
    }
}
