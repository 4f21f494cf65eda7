package release

// A LiveISO is the ISO image of CoreOS that machines boot from to install a release.
type LiveISO struct {
	Arch Arch `json:"arch"`
	// File is its name in the mirror, and Build the version of CoreOS, "9.6.20250826-1"; "" if the release
	// does not name it.
	File  string `json:"file"`
	Build string `json:"build,omitempty"`
}
