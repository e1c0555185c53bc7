//! The resources without objects: each create is a question with an answer.

/// One kind of question, always in version `v1` and not in a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Review {
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    /// The resource, such as `tokenreviews`.
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
}

pub(crate) const REVIEWS: &[Review] = &[
    Review {
        group: "authentication.k8s.io",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        singular: "selfsubjectreview",
    },
    Review {
        group: "authentication.k8s.io",
        kind: "TokenReview",
        plural: "tokenreviews",
        singular: "tokenreview",
    },
    Review {
        group: "authorization.k8s.io",
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
    },
    Review {
        group: "authorization.k8s.io",
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
        singular: "subjectaccessreview",
    },
];
