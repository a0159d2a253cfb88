locals {
  a = [abs(-1), ceil(1.2), floor(1.8), log(16, 2), max(1, 2), min(1, 2), parseint("ff", 16), pow(2, 10), range(1, 10, 3), signum(-2), sum([1, 2])]
  b = [chomp("a\n"), format("%s %05d %-4q %#v %t %v %.2f %x", "a", 1, "b", [1], true, null, 1.5, 255), formatlist("%s-%d", ["a", "b"], 1), indent(2, "a\nb")]
  c = [join(",", ["a"]), lower("A"), regex("(?P<y>[a-z]+)-(\\d+)", "ab-12"), regexall("a.", "abac"), replace("aba", "/a(.)/", "$1"), split(",", "a,b"), strrev("abc")]
  d = [substr("hello", -3, 2), title("a b"), trim("?a?", "?"), trimprefix("ab", "a"), trimsuffix("ab", "b"), trimspace(" a "), startswith("ab", "a"), endswith("ab", "b"), strcontains("abc", "b")]
  e = [chunklist([1, 2, 3], 2), coalesce(null, "a"), coalescelist([], [1]), compact(["", "a"]), concat([1], [2]), contains(["a"], "a"), distinct([1, 1]), element(["a", "b"], 3), flatten([[1], [[2]]])]
  f = [index(["a"], "a"), keys({ a = 1 }), length("é"), lookup({ a = 1 }, "b", 2), matchkeys(["a"], ["k"], ["k"]), merge({ a = 1 }, { b = 2 }), one([1]), reverse([1, 2]), setintersection([1], [1]), setproduct([1], ["a"]), setsubtract([1], [2]), setunion([1], [2]), slice([1, 2, 3], 1, 2), sort(["b", "a"]), transpose({ a = ["x"] }), values({ a = 1 }), zipmap(["a"], [1])]
  g = [base64decode("YQ=="), base64encode("a"), base64gzip("a"), csvdecode("a,b\n1,2"), jsondecode("{\"a\":[1,null,1e99]}"), jsonencode({ a = [1, "<", null] }), textdecodebase64("YQA=", "UTF-16LE"), textencodebase64("a", "UTF-16LE"), urlencode("a b&"), yamldecode("a: &x [1, ~]\nb: *x"), yamlencode({ a = [1, "x: y", null] })]
  h = [formatdate("DD MMM YYYY hh:mm:ssZ", "2026-01-02T03:04:05Z"), timeadd("2026-01-02T03:04:05Z", "1h5m"), timecmp("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+01:00")]
  i = [cidrhost("10.0.0.0/8", -2), cidrnetmask("10.0.0.0/12"), cidrsubnet("fd00::/48", 16, 162), cidrsubnets("10.1.0.0/16", 4, 8), cidrcontains("10.0.0.0/8", "10.1.1.1")]
  j = [md5("a"), sha1("a"), sha256("a"), sha512("a"), base64sha256("a"), uuidv5("dns", "x")]
  k = [sensitive("x"), nonsensitive(sensitive(1)), issensitive(var.a), tobool("true"), tolist([1]), tomap({ a = 1 }), tonumber("1"), toset([1]), tostring(1), type("x"), templatestring("a ${b}", { b = 1 })]
}
