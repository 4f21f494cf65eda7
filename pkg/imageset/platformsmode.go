package imageset

import "cmp"

// The values of platformsMode: how an index with fewer platforms is mirrored.
const (
	// PlatformsSparse keeps the index and its digest, and leaves out children of it. It is the default.
	PlatformsSparse = "sparse"
	// PlatformsRewrite makes a smaller index, with a digest of its own.
	PlatformsRewrite = "rewrite"
)

func platformsMode[T any](at func(*T) *string) field[T] {
	return text("platformsMode", "How an index with fewer platforms is mirrored: sparse (it keeps its digest and names what is missing; the default), or rewrite (a smaller index, where no other content names the digest).",
		at, oneOf("value", []string{PlatformsSparse, PlatformsRewrite}, nil))
}

// checkPlatformsMode reports a mode without platforms, which would have no effect.
func checkPlatformsMode(r *reader, path, mode string, platforms []Platform) {
	if _, listed := r.at[join(path, "platforms")]; mode != "" && len(platforms) == 0 && !listed {
		r.fault(join(path, "platformsMode"), "platformsMode has no effect without platforms", "add platforms, or remove platformsMode")
	}
}

// SetPlatformsMode sets the mode of every entry that selects platforms and has no mode of its own, and
// reports whether any entry selects platforms. Platform releases have no mode: their payloads name the
// digests of all images.
func (m *Mirror) SetPlatformsMode(mode string) (selected bool) {
	set := func(own *string, platforms []Platform) {
		if len(platforms) == 0 {
			return
		}
		selected = true
		*own = cmp.Or(*own, mode)
	}
	for i := range m.Operators {
		set(&m.Operators[i].PlatformsMode, m.Operators[i].Platforms)
	}
	for i := range m.AdditionalImages {
		set(&m.AdditionalImages[i].PlatformsMode, m.AdditionalImages[i].Platforms)
	}
	if m.Helm == nil {
		return selected
	}
	for i := range m.Helm.Local {
		set(&m.Helm.Local[i].PlatformsMode, m.Helm.Local[i].Platforms)
	}
	for i := range m.Helm.Repositories {
		charts := m.Helm.Repositories[i].Charts
		for j := range charts {
			set(&charts[j].PlatformsMode, charts[j].Platforms)
		}
	}
	return selected
}
