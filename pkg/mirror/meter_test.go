package mirror

import (
	"errors"
	"testing"

	"github.com/opencontainers/go-digest"
)

// TestMeterEndsAtTheTotal checks that bytes and requests end at their totals, also if content fails.
func TestMeterEndsAtTheTotal(t *testing.T) {
	for name, lost := range map[string]func(*maker) digest.Digest{
		"nothing is lost":    func(*maker) digest.Digest { return "" },
		"a blob is lost":     func(m *maker) digest.Digest { return m.blob("a1") },
		"a manifest is lost": func(m *maker) digest.Digest { return m.image("extra") },
	} {
		m, meter := sample(t), &Meter{}
		source := m.source()
		source.broken[lost(m)] = errors.New("lost")
		mustRun(t, m.plan(), source, newMemoryRegistry(), Options{Meter: meter})
		got := meter.Progress()
		if got.Done != got.Total || got.Total == 0 || got.Finished != got.Images || got.RequestsDone != got.Requests || got.Requests == 0 {
			t.Errorf("%s: at the end the progress is %+v", name, got)
		}
	}
}

// observeBlobs calls a function when a blob is finished.
type observeBlobs struct{ finished func() }

func (observeBlobs) BlobStarted(Transfer)      {}
func (o observeBlobs) BlobFinished(BlobResult) { o.finished() }
func (observeBlobs) ImageFinished(ImageResult) {}

// TestMeterCountsRequests checks that the requests for small content are counted: after the largest
// blob, most bytes are copied and most requests are still to be made.
func TestMeterCountsRequests(t *testing.T) {
	m, meter := sample(t), &Meter{}
	var first Progress
	meter.Observer = observeBlobs{func() {
		if first.Requests == 0 {
			first = meter.Progress()
		}
	}}
	mustRun(t, m.plan(), m.source(), newMemoryRegistry(), Options{Meter: meter, Streams: 1})
	least := int64(len(m.p.Manifests) + len(m.p.Blobs) + len(m.p.Images))
	if first.Requests < least || first.RequestsDone != 1 || first.Done == 0 {
		t.Errorf("after the first blob the progress is %+v, want one of at least %d requests", first, least)
	}
}
