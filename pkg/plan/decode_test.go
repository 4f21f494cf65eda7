package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// TestUnknownField checks that the hint for a field which this version does not know is another version.
func TestUnknownField(t *testing.T) {
	for _, field := range []string{`"signers": []`, `"images": [{"signer": "x"}]`, `"totals": {"signers": 1}`} {
		text := fmt.Sprintf(`{"kind": %q, "version": %d, "name": "a", %s}`, Kind, Version, field)
		_, err := Read(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), "signer") || advice.Hint(err) != newerPlan {
			t.Errorf("%s: %v; %q", field, err, advice.Hint(err))
		}
	}
}
