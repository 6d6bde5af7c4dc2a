package fcm

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/device"
)

// tokenIdle is after how much inactivity a token expires (Firebase: "Best practices
// for FCM registration token management").
const tokenIdle = 270 * 24 * time.Hour

// The forms of addresses, as seen: an installation ID has 22 characters and starts
// with c, d, e or f; a registration token is one, a colon and some 140 more.
var (
	fidForm   = regexp.MustCompile(`^[cdef][A-Za-z0-9_-]{21}$`)
	tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{22}:[A-Za-z0-9_-]{100,300}$`)
	topicForm = regexp.MustCompile(`^[A-Za-z0-9_.~%-]{1,900}$`)
)

// Registration is one app on one phone with its addresses.
type Registration struct {
	// Token and FID are the registration token and the Firebase installation ID;
	// one of them is enough. NewToken and NewFID make some.
	Token, FID string
	// App is the package name.
	App string
	// Project owns the app; "" means the project of the Config. A sender of
	// another gets SENDER_ID_MISMATCH.
	Project string
	// Topics are those the app subscribed to.
	Topics []string
	// Phone gets what is accepted; nil accepts and shows nothing, and has no
	// limits of a device. The app has to be installed on it under its package name.
	Phone *device.Device
}

// ErrBadRegistration answers a registration that no phone could have made, and one
// that does not exist.
var ErrBadRegistration = errors.New("fcm: bad registration")

// registration is an app on a phone, address one of its names.
type registration struct {
	Registration
	seen time.Time // last time the app registered
}

type address struct {
	app   *registration
	gone  bool
	until time.Time // zero for no end
}

// NewToken makes a registration token of the usual form.
func NewToken() string { return NewFID() + ":APA91b" + randomText(134) }

// NewFID makes a Firebase installation ID of the usual form.
func NewFID() string { return "c" + randomText(21) }

func randomText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // documented never to fail
	return base64.RawURLEncoding.EncodeToString(b)[:n]
}

// AddDevice registers an app's addresses. One added again is good again, counts as
// just used and belongs to what was given last.
func (s *Server) AddDevice(r Registration) error {
	r.Project = cmp.Or(r.Project, s.project)
	r.Topics = slices.Clone(r.Topics)
	switch {
	case r.Token == "" && r.FID == "":
		return fmt.Errorf("%w: neither token nor FID", ErrBadRegistration)
	case r.Token != "" && !tokenForm.MatchString(r.Token):
		return fmt.Errorf("%w: the token has not the form of one", ErrBadRegistration)
	case r.FID != "" && !fidForm.MatchString(r.FID):
		return fmt.Errorf("%w: the FID has not the form of one", ErrBadRegistration)
	case r.App == "":
		return fmt.Errorf("%w: no package name", ErrBadRegistration)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	app := &registration{Registration: r, seen: s.now()}
	for _, name := range []string{r.Token, r.FID} {
		if name != "" {
			s.devices[name] = &address{app: app}
		}
	}
	return nil
}

// Rotate gives an app a new token. The old one stays good for a while, as Google's
// does while the app has not told its server; then it is UNREGISTERED. The error is
// ErrBadRegistration.
func (s *Server) Rotate(old, token string, keep time.Duration) error {
	if !tokenForm.MatchString(token) {
		return fmt.Errorf("%w: the token has not the form of one", ErrBadRegistration)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.devices[old]
	if !ok {
		return fmt.Errorf("%w: no such token", ErrBadRegistration)
	}
	a.until = s.now().Add(keep)
	a.app.seen = s.now()
	s.devices[token] = &address{app: a.app}
	return nil
}

// Unregister makes a known token or FID answer UNREGISTERED, as when the app was
// deleted. It reports whether it was known.
func (s *Server) Unregister(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.devices[name]
	if ok {
		a.gone = true
	}
	return ok
}

// lookup finds the app behind an address for a sender of a project.
func (s *Server) lookup(name, project string, now time.Time) (Registration, *failure) {
	s.mu.Lock()
	a, ok := s.devices[name]
	if !ok || a.gone || !a.until.IsZero() && !now.Before(a.until) {
		s.mu.Unlock()
		return Registration{}, coded(Unregistered)
	}
	app := *a.app
	s.mu.Unlock()
	if app.Project != project {
		return Registration{}, coded(SenderIDMismatch)
	}
	used := app.seen
	if app.Phone != nil {
		// A phone that is connected keeps its tokens fresh.
		if last := app.Phone.LastOnline(); last.After(used) {
			used = last
		}
	}
	if now.Sub(used) > tokenIdle {
		return Registration{}, coded(Unregistered)
	}
	return app.Registration, nil
}

// subscribers lists the apps of a project that subscribed to a topic.
func (s *Server) subscribers(topic, project string) []Registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[*registration]bool)
	var out []Registration
	for _, a := range s.devices {
		if !a.gone && !seen[a.app] && a.app.Project == project && slices.Contains(a.app.Topics, topic) {
			seen[a.app] = true
			out = append(out, a.app.Registration)
		}
	}
	return out
}
