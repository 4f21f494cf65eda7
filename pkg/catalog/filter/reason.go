package filter

// A Reason tells why a channel entry, or a bundle, is kept. The constants below are all values.
type Reason string

const (
	// Head: the head of the channel, kept because nothing else of the channel is selected.
	Head Reason = "head"
	// Pinned: the configuration names the bundle (bundles[].name).
	Pinned Reason = "bundle"
	// Range: the version is in the selected range.
	Range Reason = "range"
	// Full: the whole channel is selected.
	Full Reason = "full"
	// Installed: a cluster runs the bundle, or is updated to it on the path to the head, in one of
	// the generations of OLM. For is the installed bundle or version.
	Installed Reason = "installed"
	// Dependency: a kept bundle requires it. For names that bundle.
	Dependency Reason = "dependency"
	// Continuity: it is not selected, but without it the channel would have two heads, or entries
	// without an update path to the head. For is the bundle that it is kept for.
	Continuity Reason = "continuity"
)

// order ranks the reasons of a bundle that is kept in several channels: what the user selected
// comes before what follows from it.
func (r Reason) order() int {
	switch r {
	case Pinned:
		return 0
	case Head:
		return 1
	case Range:
		return 2
	case Full:
		return 3
	case Installed:
		return 4
	case Dependency:
		return 5
	default:
		return 6
	}
}
