package registrytest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// CollectGarbage runs the garbage collection of the program of a registry started with Options.Alone, Auth or Sparse,
// with --delete-untagged if untagged is true. Nothing may write to the registry meanwhile.
func (s *Server) CollectGarbage(ctx context.Context, untagged bool) error {
	s.needsFiles()
	if s.process == nil || s.namespace != "" {
		return errors.New("collecting the garbage of a registry in memory, or of a shared one: use Start with Options.Alone")
	}
	args := []string{"garbage-collect", s.process.config()}
	if untagged {
		args = []string{"garbage-collect", "--delete-untagged", s.process.config()}
	}
	if out, err := exec.CommandContext(ctx, s.process.program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("collecting garbage: %w\n%s", err, lastBytes(out, 4<<10))
	}
	return nil
}
