package mirrortest

import (
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// MirrorOptions returns the options of a run with a configuration, in the workspace.
func (s *Site) MirrorOptions(config, destination string) mirroring.Options {
	return mirroring.Options{Env: s.Env, Selection: selection.Selection{Config: config}, Destination: destination, Workspace: s.Workspace()}
}

// Mirrored mirrors a configuration to a destination: docker://, file:// or oci://. It must succeed.
func (s *Site) Mirrored(config, destination string, change ...func(*mirroring.Options)) *mirroring.Result {
	s.T.Helper()
	return must(s, "mirror", mirroring.Run, s.MirrorOptions(config, destination), change)
}

// Exported mirrors a configuration to an archive in the folder, and returns it as file://DIR.
func (s *Site) Exported(config, folder string, change ...func(*mirroring.Options)) string {
	s.T.Helper()
	s.Mirrored(config, s.Archive(folder), change...)
	return s.Archive(folder)
}

// Imported copies archives, each file://DIR, to a registry, in a workspace of the disconnected side. It must succeed.
func (s *Site) Imported(destination string, archives ...string) *mirroring.Result {
	s.T.Helper()
	return s.Mirrored("", destination, func(o *mirroring.Options) {
		o.From, o.Workspace = archives, s.Path("inside")
	})
}
