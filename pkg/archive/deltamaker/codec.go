package deltamaker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/delta"
)

// encodes returns a hash of what the codec of this program makes of a small sample: another one may make smaller deltas.
func (m *maker) encodes() string {
	m.sample.Do(func() {
		m.encoding.Lock()
		defer m.encoding.Unlock()
		m.sampled = m.encodeSample()
	})
	return m.sampled
}

// version returns the version of delta files.
func (m *maker) version() int {
	if m.Compact != nil {
		return delta.Solid
	}
	return delta.Plain
}

func (m *maker) encodeSample() string {
	var old, now bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&old, "%x %d\n", sha256.Sum256([]byte{byte(i), byte(i >> 8)}), i)
		fmt.Fprintf(&now, "%x %d\n", sha256.Sum256([]byte{byte(i), byte(i >> 8)}), i+i/100)
	}
	h := sha256.New()
	d := digest.FromString("sample")
	target := delta.Target{Digest: d, Size: int64(now.Len()), Content: bytes.NewReader(now.Bytes()), ContentSize: int64(now.Len())}
	_, err := delta.Encode(context.Background(), h, target, []delta.Base{{Digest: d, Content: bytes.NewReader(old.Bytes()), Size: int64(old.Len())}}, delta.Options{Effort: m.Effort, Version: m.version(), Memory: &m.memory})
	return fmt.Sprint(hex.EncodeToString(h.Sum(nil)), err)
}
