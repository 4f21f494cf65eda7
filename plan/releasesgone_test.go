package plan

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/releasetest"
)

// otherGraphData tells of the releases of one world, with the graph data of another.
type otherGraphData struct {
	Updates
	tarball []byte
}

func (o otherGraphData) GraphData(context.Context) (string, []byte, error) {
	return "https://updates.example.com/graph-data", o.tarball, nil
}

// An update service offers a release in the channels that its graph data has it in,
// and in no other.
func TestGraphDataWithoutTheChannel(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, releasetest.Small())
	older := releasetest.Small()
	older.Channels["fast-4.20"] = older.Channels["stable-4.20"] // without 4.20.2
	delete(older.Channels, "stable-4.18")
	data, err := releasetest.New(older)
	if err != nil {
		t.Fatal(err)
	}
	from := w.from()
	from.Updates = otherGraphData{w, data.GraphData()}
	cfg := parseConfig(t, "  platform: {graph: true, channels: [{name: fast-4.20, minVersion: 4.20.1}, {name: stable-4.18}, {name: eus-4.20}]}\n")
	p, err := Make(t.Context(), cfg, "imageset", from, Options{})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{
		"the graph data does not have 4.20.2-x86_64 in channel fast-4.20: an update service with it does not offer that there; mirror.platform.graphData names other graph data",
		"the graph data does not have 4.18.2-x86_64 in channel stable-4.18: ",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in\n%s", want, notes)
		}
	}
	if strings.Count(notes, "the graph data does not have") != 2 {
		t.Errorf("of others it has what it should:\n%s", notes)
	}
}

// What cannot be read is called by its version: a digest tells nobody which of the
// releases to leave out.
func TestPayloadsThatAreGone(t *testing.T) {
	t.Parallel()
	w := newReleaseWorld(t, releasetest.Small())
	made := w.Payload("4.20.1-x86_64")
	w.registry.Script(registrytest.Rule{Path: made.Digest.String(), Action: registrytest.Status(http.StatusNotFound)})
	_, err := w.make("  platform: {channels: [{name: stable-4.20}]}\n")
	if err == nil || !strings.Contains(err.Error(), "release 4.20.1-x86_64: reading release image "+made.Reference()) {
		t.Error(err)
	}
}
