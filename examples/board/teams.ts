/** Teams, their members and their boards. */
import { dependency, HTTPError, Router } from "@webfw/core";
import * as v from "valibot";
import { Board, Email, Id, Named, Team, User } from "./models.ts";
import { state } from "./state.ts";
import { user } from "./sign_in.ts";

const TEAMS = "SELECT teams.* FROM teams JOIN members ON members.team = teams.id WHERE members.user = ?";

/** The team in the path. Other users get the reply for a team that does not exist. */
const team = dependency({ state, params: { teamId: Id }, deps: { user } }, async (request, { teamId, user }) => {
  const team = request.state.database.get<Team>(`${TEAMS} AND teams.id = ?`, user.id, teamId);
  if (!team) throw new HTTPError(404, "No such team");
  return team;
});

export const teams = new Router({ prefix: "/teams", state, deps: { user }, tags: ["Teams"] });

export const listTeams = teams.get("", {
  response: v.array(Team),
  tool: true,
}, async function listTeams(request, { user }) {
  "List the teams of the user.";
  return request.state.database.all<Team>(TEAMS, user.id);
});

export const createTeam = teams.post("", {
  body: Named,
  response: Team,
  status: 201,
}, async function createTeam(request, { body, user }) {
  "Create a team. The user is its first member.";
  const { database } = request.state;
  return await database.transaction(() => {
    const team = database.get<Team>("INSERT INTO teams (name) VALUES (?) RETURNING *", body.name)!;
    database.run("INSERT INTO members (team, user) VALUES (?, ?)", team.id, user.id);
    return team;
  });
});

export const getTeam = teams.get("/{teamId}", {
  deps: { team },
  response: v.object({ ...Team.entries, members: v.array(User), boards: v.array(Board) }),
  tool: true,
}, async function getTeam({ state: { database } }, { team }) {
  "Get a team with its members and boards.";
  const sql = "SELECT users.* FROM members JOIN users ON users.id = members.user WHERE members.team = ?";
  const boards = database.all<Board>("SELECT * FROM boards WHERE team = ?", team.id);
  return { ...team, members: database.all<User>(sql, team.id), boards };
});

export const addMember = teams.post("/{teamId}/members", {
  body: v.object({ email: Email }),
  deps: { team },
  response: User,
  status: 201,
}, async function addMember({ state: { database } }, { body, team }) {
  "Add a registered user to a team.";
  const user = database.get<User>("SELECT * FROM users WHERE email = ?", body.email);
  if (!user) throw new HTTPError(404, "No user has this address");
  database.run("INSERT INTO members (team, user) VALUES (?, ?) ON CONFLICT DO NOTHING", team.id, user.id);
  return user;
});

export const createBoard = teams.post("/{teamId}/boards", {
  body: Named,
  deps: { team },
  response: Board,
  status: 201,
}, async function createBoard(request, { body, team }) {
  "Create a board.";
  const sql = "INSERT INTO boards (team, name) VALUES (?, ?) RETURNING *";
  return request.state.database.get<Board>(sql, team.id, body.name)!;
});
