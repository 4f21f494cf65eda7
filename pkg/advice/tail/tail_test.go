package tail_test

import (
	"fmt"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice/tail"
)

func TestWriter(t *testing.T) {
	w := &tail.Writer{Limit: 12}
	for _, text := range []string{"", "first line\n", "second\tline é", "\xff  end\n"} {
		if n, err := fmt.Fprint(w, text); n != len(text) || err != nil {
			t.Errorf("writing %q returned %d, %v", text, n, err)
		}
	}
	if got, want := w.Line(), "ne é end"; got != want {
		t.Errorf("the last 12 bytes are %q, want %q", got, want)
	}
	if got := (&tail.Writer{Limit: 3}).Line(); got != "" {
		t.Errorf("without output: %q", got)
	}
}
