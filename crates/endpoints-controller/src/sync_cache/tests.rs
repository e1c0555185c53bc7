//! The plan by a sync cache is the plan of all pods, over random histories of one Service.

use controller_harness::random_service::{self, Draft, RandomService, draft, service};
use endpoint_informers::resource::Resource as _;
use endpointslice::model::{PortFields, ServiceFields, TargetPort};
use endpointslice::urgency::urgency_of_subsets;
use kube_protobuf::Message as _;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::plan::plan;

#[derive(Clone, Debug)]
enum Step {
    /// A change of the Service or its pods.
    Common(random_service::Step),
    /// Another client changes the object.
    Foreign(u8),
}

struct World {
    random: RandomService,
    stored: Option<(Endpoints, Arc<CachedEndpoints>)>,
}

fn addresses() -> Vec<Vec<&'static str>> {
    let (v4, v6) = ("10.1.H.L", "fd00::N");
    let some = vec![vec![v6], vec![v4, v6], vec![]];
    // One that the API server refuses, and one that all pods share.
    let rare = vec![vec!["169.254.H.L"], vec!["10.3.0.1"]];
    [vec![vec![v4]; 40], some.clone(), some, rare].concat()
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        9 => random_service::step(draft(addresses())).prop_map(Step::Common),
        3 => (0_u8..9).prop_map(Step::Foreign),
    ]
}

impl World {
    fn new(fields: ServiceFields<'static>) -> Self {
        Self { random: RandomService::new(fields), stored: None }
    }

    /// A Service with one port, without pods.
    fn usual() -> Self {
        let port =
            PortFields { name: "a", port: 80, target: TargetPort::Number(80), ..PortFields::default() };
        let (ports, ip_families) = (vec![port], vec!["IPv4"]);
        Self::new(ServiceFields { name: "web", ports, ip_families, ..ServiceFields::default() })
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Common(step) => self.random.take(step),
            Step::Foreign(kind) => self.change_stored(*kind),
        }
    }

    fn change_stored(&mut self, kind: u8) {
        let Some((mut stored, _)) = self.stored.take() else { return };
        let mut subsets = stored.subsets.take().unwrap_or_default();
        if let Some(subset) = subsets.first_mut() {
            let addresses = subset.addresses.get_or_insert_default();
            match kind {
                0 => drop(addresses.pop()),
                1 => addresses.reverse(),
                2 => addresses.iter_mut().for_each(|address| address.node_name = None),
                3 => {
                    let targets = addresses.iter_mut().filter_map(|address| address.target_ref.as_mut());
                    targets.for_each(|target| target.resource_version = Some("1".into()));
                }
                4 if addresses.len() > 1 => {
                    let mut other = subset.clone();
                    other.not_ready_addresses = None;
                    other.addresses = subset.addresses.as_mut().map(|addresses| addresses.split_off(1));
                    subsets.push(other);
                }
                _ => {}
            }
        }
        match kind {
            5 => return,
            6 => stored.metadata.labels = None,
            7 => {
                let annotations = stored.metadata.annotations.get_or_insert_default();
                annotations.insert("endpoints.kubernetes.io/over-capacity".into(), "truncated".into());
            }
            _ => {}
        }
        stored.subsets = Some(subsets);
        self.store(stored);
    }

    fn store(&mut self, mut endpoints: Endpoints) {
        endpoints.metadata.resource_version = Some(self.random.next_version().to_string());
        let encoded = endpoints.encode();
        let cached = CachedEndpoints::from_protobuf(&encoded, &mut self.random.interner).unwrap();
        self.stored = Some((Endpoints::decode(&encoded).unwrap(), Arc::new(cached)));
    }

    fn unready(&self) -> Unready {
        Unready::of(&self.random.service, false)
    }

    /// The plan by all pods, and its urgency.
    fn plan(&self) -> (Plan, Urgency) {
        let service = &self.random.service;
        let subsets = desired_subsets(service, self.random.pods().map(|pod| &**pod), self.unready());
        let stored = self.stored.as_ref().map(|(stored, _)| stored);
        let plan = plan(stored, service, subsets.clone(), Some("now".into()));
        let (Plan::Create(after) | Plan::Update(after)) = &plan else { return (plan, Urgency::Metadata) };
        let before = stored.and_then(|stored| stored.subsets.as_deref()).unwrap_or_default();
        let (after, labels) = (after.subsets.as_deref().unwrap_or_default(), after.metadata.labels.as_ref());
        let urgency = urgency_of_subsets(before, after, |_| subsets, labels);
        (plan, urgency)
    }

    /// The plan by the sync cache, as in a sync; `None` if it needs all pods.
    fn plan_by(&self, sync_cache: &mut Option<SyncCache>) -> Option<(Plan, Urgency)> {
        let is_current = |sync_cache: &SyncCache| sync_cache.is_current(&self.random.service);
        let new = || SyncCache::new(Arc::clone(&self.random.service), self.unready());
        let mut changing = sync_cache.take().filter(is_current).unwrap_or_else(new);
        let stored = self.stored.as_ref().map(|(_, stored)| stored);
        if let Some(stored) = stored {
            changing.observe(stored, &stored.encoded.unpack());
        }
        let changes = changing.seen().changes(self.random.pods());
        let (_, listed) = changing.update(changes);
        listed.ok()?;
        let encoded = stored.map(|stored| stored.encoded.unpack());
        let difference = changing.compare(stored.zip(encoded.as_deref()));
        let plan = match difference {
            Ok(Difference::Nothing) => Some((Plan::Nothing, Urgency::Metadata)),
            Ok(Difference::Write(head, urgency)) => {
                Some((changing.write(head.as_deref(), Some("now".into())), urgency))
            }
            Err(NeedsAll) => None,
        };
        *sync_cache = Some(changing);
        plan
    }

    fn apply(&mut self, (plan, _): (Plan, Urgency)) {
        if let Plan::Create(endpoints) | Plan::Update(endpoints) = plan {
            self.store(endpoints);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_plan_is_that_of_all_pods(
        fields in service(),
        steps in vec((step(), prop::bool::weighted(0.8)), 1..14),
    ) {
        let mut world = World::new(fields);
        let mut sync_cache = None;
        for (step, is_written) in steps {
            world.take(&step);
            let expected = world.plan();
            if let Some(plan) = world.plan_by(&mut sync_cache) {
                prop_assert_eq!(&plan, &expected, "after {:?}", step);
            }
            if is_written {
                world.apply(expected);
            }
        }
    }

    /// Otherwise the comparison above would compare nothing.
    #[test]
    fn usual_pods_need_no_plan_of_all(changes in vec((0_u16..14, any::<bool>()), 1..14)) {
        let mut world = World::usual();
        let mut sync_cache = None;
        for (number, ready) in changes {
            world.random.set_pod(number, Draft::usual(ready));
            let plan = world.plan_by(&mut sync_cache);
            prop_assert_eq!(plan.as_ref(), Some(&world.plan()));
            world.apply(plan.unwrap());
            prop_assert_eq!(world.plan_by(&mut sync_cache).unwrap().0, Plan::Nothing);
        }
    }
}

#[test]
fn octets_are_ordered_as_their_text() {
    for (a, b) in (0..=u8::MAX).flat_map(|a| (0..=u8::MAX).map(move |b| (a, b))) {
        let text = |octet: u8| (format!("{octet}."), octet.to_string());
        let ((inner_a, last_a), (inner_b, last_b)) = (text(a), text(b));
        assert_eq!(digits(a).cmp(&digits(b)), inner_a.cmp(&inner_b), "{a}. {b}.");
        assert_eq!(digits(a).cmp(&digits(b)), last_a.cmp(&last_b), "{a} {b}");
    }
}

#[test]
fn more_pods_than_fit_are_truncated_as_by_a_plan_of_all() {
    let mut world = World::usual();
    let mut sync_cache = None;
    for number in 0..990 {
        world.random.set_pod(number, Draft::usual(number % 7 > 0));
    }
    for number in 985..1010 {
        world.random.set_pod(number, Draft::usual(number % 2 > 0));
        let plan = world.plan_by(&mut sync_cache).unwrap();
        assert_eq!(plan, world.plan(), "{number}");
        world.apply(plan);
    }
    for number in (0..1010).step_by(40).chain(0..1010) {
        world.random.set_pod(number, Draft::usual(true));
        if number % 90 == 0 || number > 995 {
            let plan = world.plan_by(&mut sync_cache).unwrap();
            assert_eq!(plan, world.plan(), "{number}");
            world.apply(plan);
        }
    }
}
