package filter

// A Reason says why an entry of a channel, or a bundle, is kept. The set is
// closed: the constants below are all there are.
type Reason string

const (
	// Head: the channel's own head, taken because nothing else was asked of the
	// channel.
	Head Reason = "head"
	// Pinned: the configuration names the bundle (bundles[].name).
	Pinned Reason = "bundle"
	// Range: its version lies in the range asked for.
	Range Reason = "range"
	// Full: everything of the channel was asked for.
	Full Reason = "full"
	// Installed: a cluster runs it, or gets from what it runs to the head by it.
	// It comes with the bundle, or the version, that is installed.
	Installed Reason = "installed"
	// Dependency: a bundle that is kept needs it. It comes with who that is.
	Dependency Reason = "dependency"
	// Continuity: it lies outside of what was asked for, but without it the
	// channel would have two heads or leave entries without a way to the head.
	// It comes with the name of the bundle that it is kept for.
	Continuity Reason = "continuity"
)

// order is that in which one reason stands for a bundle that is kept in several
// channels: what the user said before what followed from it.
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
