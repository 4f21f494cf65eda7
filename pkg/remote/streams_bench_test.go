package remote

import (
	"strconv"
	"testing"
	"time"
)

// BenchmarkStreams is what a request pays for its turn at a host: with a stream
// free at once, and with many who wait for one.
func BenchmarkStreams(b *testing.B) {
	for _, waiting := range []int{1, 64} {
		b.Run(strconv.Itoa(waiting), func(b *testing.B) {
			s, r, now := newStreams(MaxStreams), &request{method: "GET", kind: "blob"}, time.Now()
			b.SetParallelism(waiting)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.acquire(b.Context()); err != nil {
						b.Error(err)
						return
					}
					s.answered(now, 0, r, 200, time.Millisecond)
					s.release()
				}
			})
		})
	}
}

// BenchmarkToken finds the token of one repository among those of 500.
func BenchmarkToken(b *testing.B) {
	h := &host{c: &Client{}, tokens: map[string][]token{}}
	h.c.o.Clock = systemClock{}
	for i := range 500 {
		repo := "org/operand" + strconv.Itoa(i)
		h.tokens[repo] = []token{{value: repo, scopes: []string{push(repo)}, expires: time.Now().Add(time.Hour)}}
	}
	r := &request{repo: "org/operand77", scopes: []string{pull("org/operand77")}}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if h.cached(r).value != r.repo {
				b.Error("no token")
				return
			}
		}
	})
}
