package installed

import (
	"io"
	"strings"
	"testing"
)

func TestLimited(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]string{0: "", 3: "", 4: "", 5: "too large", 100: "too large"} {
		text, err := io.ReadAll(&limited{r: strings.NewReader(strings.Repeat("a", size)), left: 4, message: "too large"})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || err == nil && len(text) != size {
			t.Errorf("%d bytes: read %d, error %q", size, len(text), got)
		}
	}
}
