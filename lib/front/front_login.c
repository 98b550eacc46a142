/*
 * front_login.c - gives the cores a new login for connections to servers.
 */
#include "front_control.h"

void
front_control_login(struct front_control *c, const struct front_login *login)
{
	c->login = *login;
	c->login_is_new = true;
}

static bool
is_tried(const struct front_place *p)
{
	return p->health == FRONT_HEALTH_DOWN || p->health == FRONT_HEALTH_AWAY;
}

bool
front_control_login_step(struct front_control *c, struct front_state *draft)
{
	if (!c->login_is_new)
		return false;
	c->login_is_new = false;
	draft->login = c->login;
	for (uint32_t i = 0; i < draft->count; i++) {
		if (!is_tried(&c->place[i]))
			continue;
		draft->probe[i] = ++c->place[i].probe;
		draft->pause_ms[i] = 0;
	}
	return true;
}
