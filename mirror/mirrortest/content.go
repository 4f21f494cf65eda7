package mirrortest

import (
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// IsContent reports whether a repository of a mirror has content, and no records and no lease.
func IsContent(repository string) bool {
	for _, own := range []string{"image-sets", "lease", "shards"} {
		if strings.HasSuffix(repository, "gantry-"+own) || repository == "gantry/"+own { // the latter without a prefix
			return false
		}
	}
	return true
}

// ContentBelow lists the content that a registry stores below a prefix.
func ContentBelow(t *testing.T, s *registrytest.Server, prefix string) []registrytest.Repository {
	t.Helper()
	list, err := s.Repositories(prefix)
	fail.On(t, err)
	return slices.DeleteFunc(list, func(r registrytest.Repository) bool { return !IsContent(r.Name) })
}

// ContentRequests returns the requests for content.
func ContentRequests(s *registrytest.Server) []registrytest.Request {
	return slices.DeleteFunc(s.Log(), func(r registrytest.Request) bool { return !IsContent(r.Repository()) })
}

// Tags returns what the mirror has below a prefix, its records too: "path:tag".
func (s *Site) Tags(prefix string) (all []string) {
	s.T.Helper()
	list, err := s.Mirror.Repositories(prefix)
	fail.On(s.T, err)
	for _, r := range list {
		for tag := range r.Tags {
			all = append(all, r.Name+":"+tag)
		}
	}
	slices.Sort(all)
	return all
}

// Has reports whether a repository below the prefix has manifests: "tidewater" for all whose names contain that.
func (s *Site) Has(prefix, word string) bool {
	s.T.Helper()
	return slices.ContainsFunc(ContentBelow(s.T, s.Mirror, prefix), func(r registrytest.Repository) bool {
		return strings.Contains(r.Name, word) && len(r.Manifests) > 0
	})
}

// PushMirror pushes an image with content of this name to the mirror, and returns REPOSITORY@DIGEST.
func (s *Site) PushMirror(repository, tag, content string) string {
	s.T.Helper()
	img, err := registrytest.Index(content)
	fail.On(s.T, err)
	d, err := s.Mirror.Client().Push(s.T.Context(), repository, tag, img)
	fail.On(s.T, err)
	return repository + "@" + d.String()
}

// VerifyOptions returns the options that verify a destination with a configuration, or with its records if config is "".
func (s *Site) VerifyOptions(config, destination string) verify.Options {
	return verify.Options{Env: s.NewEnv(), Selection: selection.Selection{Config: config}, Locations: []string{destination}, Workspace: s.Workspace()}
}

// Verified verifies a destination with a configuration, or with its records if config is "". It must succeed.
func (s *Site) Verified(config, destination string, change ...func(*verify.Options)) *verify.Result {
	s.T.Helper()
	return must(s, "verify", verify.Run, s.VerifyOptions(config, destination), change)
}

// PlanFile is WrittenPlan that also returns the plan.
func (s *Site) PlanFile(config, name string) (file string, p *plan.Plan) {
	s.T.Helper()
	p = s.Planned(config)
	return s.writePlan(name, p), p
}
