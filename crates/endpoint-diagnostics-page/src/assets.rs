//! The files of the page.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

/// A file of the page.
#[derive(Clone, Copy)]
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    content_type: &'static str,
    pub(crate) text: &'static str,
}

impl Asset {
    const fn new(path: &'static str, content_type: &'static str, text: &'static str) -> Self {
        Self { path, content_type, text }
    }

    pub(crate) fn headers(self) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(self.content_type))])
    }
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// A module of the page.
macro_rules! module {
    ($name:literal) => {
        Asset::new(concat!("/", $name, ".js"), JAVASCRIPT, include_str!(concat!("../assets/", $name, ".js")))
    };
}

/// All files; `/` is the page.
pub(crate) const ASSETS: [Asset; 21] = [
    Asset::new("/", "text/html; charset=utf-8", include_str!("../assets/index.html")),
    Asset::new("/style.css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
    Asset::new("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    module!("api"),
    module!("app"),
    module!("changes"),
    module!("command"),
    module!("detail"),
    module!("dom"),
    module!("feed"),
    module!("find"),
    module!("layout"),
    module!("list"),
    module!("model"),
    module!("overview"),
    module!("picture"),
    module!("route"),
    module!("spark"),
    module!("theme"),
    module!("time"),
    module!("timeline"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The most bytes of the page, which has no build chain that would make it smaller.
    const MOST: usize = 150_000;

    #[test]
    fn the_page_is_small_and_complete() {
        let size: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(size <= MOST, "{size} bytes");
        for asset in ASSETS {
            let imports =
                asset.text.lines().filter_map(|line| line.split_once("from \"./")?.1.strip_suffix("\";"));
            for import in imports {
                assert!(
                    ASSETS.iter().any(|it| it.path.strip_prefix('/') == Some(import)),
                    "{}: {import}",
                    asset.path
                );
            }
            for elsewhere in ["https://", "http://", "innerHTML", "eval(", "document.write"] {
                let text = asset.text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(elsewhere), "{}: {elsewhere}", asset.path);
            }
        }
    }
}
