package resources

import "slices"

// A SourceMirrors is where nodes find the images of one source. An image belongs to the longest source
// that is its repository or one of the parents.
type SourceMirrors struct {
	// Source is a repository or a namespace with its host: "quay.io/org".
	Source string
	// ByDigest and ByTag are the mirrors for pulls by digest and by tag, in the order in which they are
	// tried. The rest of the repository's name is appended to them.
	ByDigest, ByTag []string
	// Policy is Options.MirrorSourcePolicy: with "NeverContactSource", the source itself is blocked.
	Policy string
	// Kinds are the groups of mirror sets that need the source, sorted. See Image.
	Kinds []string
}

// Mirrors returns where nodes find images, sorted by source: the entries of the mirror sets that Build
// writes.
func Mirrors(images []Image, opts Options) ([]SourceMirrors, error) {
	pulls, _, _, err := readPulls(images)
	if err != nil {
		return nil, err
	}
	var all []SourceMirrors
	for _, e := range chooseScopes(pulls) {
		m := SourceMirrors{Source: e.source, ByDigest: e.mirrors[index(true)], ByTag: e.mirrors[index(false)], Policy: opts.MirrorSourcePolicy}
		m.Kinds = slices.Compact(slices.Sorted(slices.Values(slices.Concat(e.kinds[0], e.kinds[1]))))
		all = append(all, m)
	}
	return all, nil
}
