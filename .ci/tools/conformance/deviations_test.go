package conformance

// models are all profiles, also the one without traits.
const models = "models"

// A deviation is a reason why tests do not pass. All tests that match have this outcome, and all others pass.
type deviation struct {
	registry string // or models; "" for the profiles that have the trait
	outcome  int
	why      string   // a trait of profiles, if registry is ""
	tests    []string // patterns
}

// pushed are patterns for the tests of a manifest that the registry refuses.
func pushed(names ...string) (all []string) {
	for _, name := range names {
		for _, test := range []string{"push", "tag-list", "head", "pull"} {
			all = append(all, name+"/"+test)
		}
	}
	return all
}

func deviations() []deviation {
	const (
		noSHA512    = "digests of other algorithms than sha256: "
		noReferrers = "no referrers, and no header OCI-Subject"
	)
	var (
		chunked   = []string{"sha* blobs/chunked *", "sha* blobs/stream", "sha* blobs/bad digest chunked*", "sha* blobs/bad digest stream"}
		ordered   = []string{"sha* blobs/chunked out-of-order*"}
		sha512    = []string{"sha512/push", "sha512/head", "sha512/pull", "sha512 blobs/post+put", "sha512 blobs/chunked *", "sha512 blobs/stream", "sha512 blobs/mount*", "sha512 blobs/range requests", "sha512 blobs/empty*"}
		no512     = append([]string{"sha512 blobs/post only"}, sha512...)
		subject   = []string{"artifacts-with-subject/push", "index-with-subject/push", "missing-subject/push"}
		referrers = append([]string{"*/referrers"}, subject...)
		stored    = []string{"[^bis]*/delete", "image*/delete", "index*/delete"}
		manifests = []string{"[^s]*/delete", "sha512/delete"}
	)
	return []deviation{
		{models, skips, "the model: optional, and wants another request for the content", []string{"sha* blobs/post only", "sha* blobs/bad digest post only", "sha* blobs/mount anonymous"}},
		{"distribution3", skips, "distribution: optional, and wants another request for the content", []string{"sha* blobs/post only", "sha* blobs/mount anonymous", "sha* blobs/bad digest post only"}},
		{"distribution3", fails, "distribution: no referrers, and no header OCI-Subject", referrers},
		{"distribution3", fails, "distribution: content of sha512 has the digest of sha256 in its headers", sha512},
		{"distribution3", fails, "distribution: layers at other places are refused unless its configuration allows them", pushed("non-distributable-layers")},
		{"", fails, "referrers of a manifest that is absent: 400 MANIFEST_INVALID", []string{"empty/referrers", "missing-subject/referrers"}},
		{"", fails, "the range of an upload that was asked for ends a byte too late, and begins with bytes=", ordered},
		{"", fails, "the range of an upload that was asked for ends a byte too late", ordered},
		{"", skips, "blobs are sent whole, whatever the range", []string{"sha256 blobs/range requests"}},
		{"", skips, "mounts only if that is enabled", []string{"sha* blobs/mount"}},
		{"", fails, "a manifest with a subject: no header OCI-Subject", subject},
		{"", fails, "a manifest without tags is found for an hour after it was pushed by digest, and longer if it has a subject or is in a tagged index", stored},
		{"", fails, noSHA512 + "400 BLOB_UPLOAD_INVALID and MANIFEST_INVALID", no512},
		{"", fails, noSHA512 + "400 DIGEST_INVALID", no512},
		{"", fails, noReferrers, referrers},
		{"", fails, "no referrers: OCI 1.0", referrers},
		{"", fails, "no referrers", []string{"*/referrers"}},
		{"", fails, "an index in an index: 400 MANIFEST_INVALID", pushed("nested-index")},
		{"", fails, "a manifest is not compared with the digest that it is pushed by", []string{"bad-digest-image/push"}},
		{"", skips, "deleting a tag: 400 UNSUPPORTED", stored},
		{"", fails, "deleting: 406", manifests},
		{"", fails, "deleting: 404 with a text", []string{"[^abdims]*/delete", "image*/delete", "index*/delete", "artifacts-*/delete", "sha512/delete"}},
		{"", skips, "deleting: 405 UNSUPPORTED", manifests},
		{"", fails, "a part of an upload: 201, and from the second on a range that no longer grows", chunked},
		{"", fails, "manifests with artifactType, subject or data: 405 UNSUPPORTED", pushed("artifact", "artifact-*", "artifacts-*", "*-subject", "data-field")},
	}
}
