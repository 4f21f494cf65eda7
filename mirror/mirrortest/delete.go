package mirrortest

import (
	"net/http"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Delete deletes a manifest, a tag or a blob of the mirror: "site/app/manifests/v1".
func (s *Site) Delete(path string) {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodDelete, s.Mirror.URL()+"/v2/"+path, http.NoBody)
	fail.On(s.T, err)
	answer, err := http.DefaultClient.Do(req)
	fail.On(s.T, err)
	_ = answer.Body.Close() // it was not read
	if answer.StatusCode != http.StatusAccepted {
		s.T.Fatalf("deleting %s: %s", path, answer.Status)
	}
}

// FromPlan mirrors what the plan in a file has.
func FromPlan(file string) func(*mirroring.Options) {
	return func(o *mirroring.Options) { o.Config, o.Plan = "", file }
}
