//! Authorization: the decision whether a user may send a request.

mod authorizer;
mod options;
mod paths;

pub use authorizer::Authorizer;
pub use options::AuthorizationOptions;
