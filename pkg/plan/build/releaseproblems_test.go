package build

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// otherGraphData is a release source with graph data from elsewhere.
type otherGraphData struct {
	ReleaseSource
	tarball []byte
}

func (o otherGraphData) GraphData(context.Context) (string, []byte, error) {
	return "https://updates.example.com/graph-data", o.tarball, nil
}

// TestGraphDataWithoutTheChannel checks the notes on releases that the graph data does not have in
// their channel: an update service does not offer them there.
func TestGraphDataWithoutTheChannel(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	older := releasetest.Small()
	older.Channels["fast-4.20"] = older.Channels["stable-4.20"] // without 4.20.2
	delete(older.Channels, "stable-4.18")
	data, err := releasetest.New(older)
	fail.On(t, err)
	sources := w.sources()
	sources.Releases = otherGraphData{w, data.GraphData()}
	cfg := parseConfig(t, "  platform: {graph: true, channels: [{name: fast-4.20, minVersion: 4.20.1}, {name: stable-4.18}, {name: eus-4.20}]}\n")
	p, err := Plan(t.Context(), cfg, "imageset", sources, Options{})
	fail.On(t, err)
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{
		"the graph data does not have 4.20.2-x86_64 in channel fast-4.20, so an update service does not offer it there; set mirror.platform.graphData to other graph data",
		"the graph data does not have 4.18.2-x86_64 in channel stable-4.18, ",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in\n%s", want, notes)
		}
	}
	fail.Diff(t, 2, strings.Count(notes, "the graph data does not have"))
}

// TestUnavailablePayloads checks that an error about an unavailable payload names the version, not
// only the digest.
func TestUnavailablePayloads(t *testing.T) {
	t.Parallel()
	w := newReleaseFixture(t, releasetest.Small())
	made := w.Payload("4.20.1-x86_64")
	w.registry.Script(registrytest.Rule{Path: made.Digest.String(), Action: registrytest.Status(http.StatusNotFound)})
	_, err := w.make("  platform: {channels: [{name: stable-4.20}]}\n")
	says(t, err, "release 4.20.1-x86_64: reading release image "+made.Reference())
}
