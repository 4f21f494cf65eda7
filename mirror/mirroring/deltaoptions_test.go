package mirroring

import (
	"testing"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
)

// TestFoundDeltas checks that blobs that an archive carries as deltas do not count as found.
func TestFoundDeltas(t *testing.T) {
	t.Parallel()
	r := &Result{Report: &mirror.Report{BlobsFound: 3}, Transfer: &copying.Transfer{}}
	r.Transfer.BytesFound = 100
	r.setArchive(&airgap.ExportResult{Deltas: &airgap.DeltaResult{Blobs: 2, BlobBytes: 70}})
	if r.Report.BlobsFound != 1 || r.Transfer.BytesFound != 30 {
		t.Errorf("%d blobs of %d bytes are found", r.Report.BlobsFound, r.Transfer.BytesFound)
	}
	r.setArchive(&airgap.ExportResult{})
	if r.Report.BlobsFound != 1 || r.Archive == nil {
		t.Errorf("without deltas: %+v", r)
	}
}
