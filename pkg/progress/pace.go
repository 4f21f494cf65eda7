package progress

import "time"

// window is how far back the speed looks. Older readings say little about the remaining time, and a
// shorter window makes the speed jump.
const window = 30 * time.Second

// A pace keeps the readings of the window.
type pace struct {
	what  string
	marks []mark
}

// A mark is how much was done at a time.
type mark struct {
	at            time.Time
	worked, moved int64
}

func newPace(now time.Time, r Reading) *pace {
	p := &pace{}
	p.note(now, r)
	return p
}

// note adds a reading. If the activity changed, earlier readings are dropped. If less is done than
// before, because a failed attempt is repeated, the connection was not slower because of that.
func (p *pace) note(now time.Time, r Reading) {
	if r.What != p.what {
		p.what, p.marks = r.What, nil
	}
	if n := len(p.marks); n > 0 {
		if lost := p.marks[n-1].moved - r.moved(); lost > 0 {
			for i := range p.marks {
				p.marks[i].moved -= lost
				p.marks[i].worked -= lost
			}
		}
	}
	for len(p.marks) > 1 && now.Sub(p.marks[1].at) >= window {
		p.marks = p.marks[1:]
	}
	p.marks = append(p.marks, mark{now, r.worked(), r.moved()})
}

// frame adds speed and time left to a reading.
func (p *pace) frame(now time.Time, r Reading) Frame {
	p.note(now, r)
	f := Frame{Reading: r, At: now, Left: -1}
	took := now.Sub(p.marks[0].at).Seconds()
	worked := r.worked() - p.marks[0].worked
	if took < 1 || worked <= 0 {
		return f
	}
	f.PerSecond = float64(max(0, r.moved()-p.marks[0].moved)) / took
	done, total := r.position()
	if left := float64(total-done) * took / float64(worked); left < (1000 * time.Hour).Seconds() {
		f.Left = time.Duration(left * float64(time.Second)).Round(time.Second)
	}
	return f
}
