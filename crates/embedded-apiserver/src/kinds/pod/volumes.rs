//! `ValidateVolumes`, as far as names, the number of sources and the names that sources give go.

use serde_json::Value;

use crate::kinds::checks;
use crate::kinds::field::{Errors, Path};
use crate::kinds::tree;

/// The sources in the order in which upstream looks for them, each with the name in its errors.
const SOURCES: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// Names that a source must give.
const REQUIRED: [(&str, &str); 4] = [
    ("secret", "secretName"),
    ("configMap", "name"),
    ("persistentVolumeClaim", "claimName"),
    ("hostPath", "path"),
];

/// Checks the volumes. Returns the names of the valid ones.
pub(super) fn validate<'a>(spec: &'a Value, path: &Path<'_>, errors: &mut Errors) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (index, volume) in tree::list(spec, "volumes").iter().enumerate() {
        let path = path.index(index);
        let mut own = Errors::default();
        validate_sources(volume, &path, &mut own);
        let name = tree::text(volume, "name");
        if name.is_empty() {
            own.required(&path.child("name"), "");
        } else {
            checks::label(name, &path.child("name"), &mut own);
        }
        if names.contains(&name) {
            own.duplicate(&path.child("name"), name);
        }
        if own.is_empty() {
            names.push(name);
        }
        errors.extend(own);
    }
    names
}

fn validate_sources(volume: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut sources = SOURCES.iter().filter(|(key, _)| tree::has(volume, key));
    let Some((first, _)) = sources.next() else {
        errors.required(path, "must specify a volume type");
        return;
    };
    if let Some((_, key)) = REQUIRED.iter().find(|(source, _)| source == first)
        && tree::text(tree::field(volume, first), key).is_empty()
    {
        let path = path.child(first);
        errors.required(&path.child(key), "");
    }
    for (_, shown) in sources {
        errors.forbidden(&path.child(shown), "may not specify more than 1 volume type");
    }
}
